# shellcheck shell=bash
# What cluster/test, tsan and asan share: steps, counts, and the end of whatever tests have started.

passed=0
failed=0
test_folder=''
test_options=()

begin_tests() {
  local name
  cd "$root"
  # What the caller has set for clusters of their own must not reach those of the tests.
  for name in $(compgen -e ROOST_ || true); do [[ $name == ROOST_TEST_* ]] || unset "$name"; done
  test_folder=$(mktemp -d "${TMPDIR:-/tmp}/roost-test.XXXXXX")
  chmod 755 "$test_folder" # PostgreSQL's user must reach what lies in it
  export ROOST_TEST_DIRECTORY=$test_folder
  trap end_of_tests EXIT
  trap 'exit 130' INT TERM HUP
}

# Stops the clusters that the tests have left, and removes everything.
end_of_tests() {
  local folder
  trap '' INT TERM HUP
  for folder in "$test_folder"/*/; do
    if [ -e "$folder/roost-cluster" ]; then "$root/cluster/down" --data "$folder" --wipe >/dev/null || true; fi
  done
  rm -rf -- "$test_folder"
}

# A step that is one check; fails if the check does.
# usage: check WHAT COMMAND…
check() {
  local what=$1 log="$test_folder/check.log"
  shift
  say "--- $what"
  if ! "$@" </dev/null >"$log" 2>&1; then
    if ! grep -E -A 4 'error:|warning:' "$log"; then tail -n 60 "$log"; fi
    say "--- $what: failed"
    failed=$((failed + 1))
    return 1
  fi
}

# A check that counts as a test, and prints all its words where it fails.
# usage: run_check WHAT COMMAND…
run_check() {
  local what=$1 log="$test_folder/check.log"
  shift
  say "--- $what"
  if "$@" </dev/null >"$log" 2>&1; then
    passed=$((passed + 1))
  else
    cat "$log"
    say "--- $what: failed"
    failed=$((failed + 1))
  fi
}

check_scripts() {
  local file
  command -v shellcheck >/dev/null || return 0
  for file in cluster/*; do
    if [ -f "$file" ] && [[ $(read_line "$file") == '#!'*bash ]]; then shellcheck "$file" || return 1; fi
  done
}

# usage: run_tests WHAT SECONDS ARGUMENT… (of swift test)
run_tests() {
  local what=$1 seconds=$2 log="$test_folder/tests.log" status=0 lost
  shift 2
  say "--- tests of $what"
  timeout --foreground --signal INT --kill-after 30 "$seconds" \
    swift test --skip-build -Xswiftc -warnings-as-errors ${test_options[@]+"${test_options[@]}"} "$@" </dev/null 2>&1 |
    tee "$log" | grep --line-buffered -vE ' started\.$|^\[[0-9]+/[0-9]+\]|^Test (Suite|Case) .* started at' || status=${PIPESTATUS[0]}
  count_tests "$log"
  if [ "$status" != 0 ]; then
    if [ "$status" = 124 ]; then say "--- tests of $what: not done after $seconds s"; fi
    # A crash or a time-out takes with it tests that never told how they ended.
    if [ "$lost" = 0 ]; then failed=$((failed + 1)); fi
  fi
}

# Adds up the lines of Swift Testing and XCTest in a log; leaves the number of failures in `lost`.
count_tests() {
  local of_test='^[^ ]+ Test [^ ]' of_run='^[^ ]+ Test (run with|case passing) '
  lost=$(grep -E "$of_test.* failed after " "$1" | grep -cvE "$of_run" || true)
  lost=$((lost + $(grep -cE "^Test Case .* failed \(" "$1" || true)))
  failed=$((failed + lost))
  passed=$((passed + $(grep -E "$of_test.* passed after " "$1" | grep -cvE "$of_run" || true)))
  passed=$((passed + $(grep -cE "^Test Case .* passed \(" "$1" || true)))
}

# Prints the result, and ends.
finish_tests() {
  say
  say "$passed passed, $failed failed"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ] && exit 0
  exit 1
}

# usage: run_under_sanitizer thread|address FILTER
run_under_sanitizer() {
  local target
  test_options=(--sanitize "$1" --scratch-path ".build/$1-sanitizer")
  check "the build" timeout --foreground 1500 swift build --build-tests -Xswiftc -warnings-as-errors "${test_options[@]}" ||
    finish_tests
  # Leaks are not looked for: what lives as long as the process is not freed.
  export ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=halt_on_error=0:exitcode=66
  if [ -n "$2" ]; then
    run_tests "the parts under the $1 sanitizer" 1200 --skip '^EndToEndTests\.' --filter "$2"
    return
  fi
  # One target after the other: all at once, slowed down, they would keep one another from their turns for longer than tests wait.
  for target in Tests/*Tests; do
    target=${target##*/}
    if [ "$target" = EndToEndTests ]; then continue; fi
    run_tests "$target under the $1 sanitizer" 600 --filter "^$target\."
  done
}

has_end_to_end_test() {
  local list
  list=$(swift test list --skip-build -Xswiftc -warnings-as-errors 2>/dev/null | grep '^EndToEndTests\.') || return 1
  grep -E -- "$1" <<<"$list" >/dev/null
}
