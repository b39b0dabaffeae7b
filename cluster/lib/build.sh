# shellcheck shell=bash
# The programs: built for release in the checkout, then copied under the cluster's folder, so that a later build does not
# disturb what runs.

readonly programs=(roostd roostctl roost-load)
readonly release="$root/.build/release"

# Builds whatever is older than its sources.
build_release() {
  require_swift
  mkdir -p "$root/.build"
  exec 7>>"$root/.build/roost-release.lock"
  flock 7
  if ! is_built; then
    say "building (the first time takes some minutes)"
    local stamp="$root/.build/roost-release.new" log="$root/.build/roost-release.log"
    : >"$stamp" # from before the build: sources that change while it runs are newer
    (cd "$root" && swift build -c release </dev/null >"$log" 2>&1 7>&-) || {
      grep -E -A 3 'error:|warning: unable' "$log" >&2 || tail -n 30 "$log" >&2
      fail "the build failed; all of its words are in $log"
    }
    mv -f "$stamp" "$release/roost-stamp"
  fi
  exec 7>&-
}

# True if nothing that the build reads is newer than it. A folder is newer when a file in it came or went.
is_built() {
  local program
  for program in "${programs[@]}"; do [ -x "$release/$program" ] || return 1; done
  [ -e "$release/roost-stamp" ] || return 1
  [ -z "$(find "$root/Sources" "$root/Package.swift" -newer "$release/roost-stamp" -print -quit)" ]
}

# Copies the programs in folder $1 to the cluster's folder, where bin/current will name them.
install_programs() {
  local from=$1 build program folder
  build=$(cat -- "$from"/{roostd,roostctl} | sha256sum)
  build=${build:0:12}
  folder="$data/bin/$build"
  if [ ! -d "$folder" ]; then
    rm -rf -- "$folder.new"
    mkdir -p -- "$folder.new"
    for program in "${programs[@]}"; do
      if [ -x "$from/$program" ]; then cp -- "$from/$program" "$folder.new/"; fi
    done
    mv -- "$folder.new" "$folder"
  fi
  say "$build" | write_file "$data/bin/current"
}

current_build() { read_line "$data/bin/current"; }

program() { printf '%s/bin/%s/%s' "$data" "$(current_build)" "$1"; }

# Removes the builds that nothing runs from any more.
remove_old_programs() {
  local folder
  for folder in "$data"/bin/*/; do
    folder=${folder%/}
    if [ "${folder##*/}" != "$(current_build)" ] && [ -z "$(pids_of_programs_in "$folder")" ]; then rm -rf -- "$folder"; fi
  done
}
