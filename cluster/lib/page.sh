# shellcheck shell=bash
# The operators' page in a real browser, against a real cluster of three nodes.

readonly selenium_version=4
readonly selenium_folder="$root/.build/selenium-$selenium_version"
readonly browser_packages=(chromium chromium-driver)

install_selenium() {
  [ -x "$selenium_folder/bin/python" ] && "$selenium_folder/bin/python" -c 'import selenium' 2>/dev/null && return
  say "installing selenium into ${selenium_folder#"$root/"}"
  rm -rf -- "$selenium_folder"
  {
    python3 -m venv "$selenium_folder" &&
      "$selenium_folder/bin/pip" install --quiet --disable-pip-version-check "selenium~=$selenium_version.0"
  } </dev/null || {
    rm -rf -- "$selenium_folder"
    return 1
  }
}

# usage: check_page FOLDER (of the cluster that is made for it, and cleared away by the caller)
check_page() {
  local folder=$1 status=0
  local -a bin=()
  if [ -n "${ROOST_TEST_BINARIES-}" ]; then bin=(--bin "$ROOST_TEST_BINARIES"); fi
  install_selenium || return 1
  "$root/cluster/up" --data "$folder" --nodes 3 --port "$(free_ports 3)" ${bin[@]+"${bin[@]}"} || return 1
  PYTHONDONTWRITEBYTECODE=1 timeout --foreground 150 "$selenium_folder/bin/python" "$root/cluster/lib/page_test.py" \
    "$folder/cluster.json" || status=$?
  "$root/cluster/down" --data "$folder" --wipe >/dev/null || status=1
  return "$status"
}

test_page() {
  require_packages "${browser_packages[@]}"
  [ -n "${ROOST_TEST_BINARIES-}" ] || build_release
  run_check "the operators' page in a browser" check_page "$test_folder/page"
}
