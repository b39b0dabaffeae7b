# shellcheck shell=bash
# Debian packages. Installed when root; otherwise named, so that a person can.

readonly build_packages=(libc6-dev libcurl4-openssl-dev libnats-dev libpq-dev libsodium-dev zlib1g-dev pkg-config)
readonly run_packages=(curl nats-server postgresql)
readonly test_packages=(
  python3-venv
  unicode-data fortunes fortunes-bg fortunes-br fortunes-cs fortunes-de fortunes-eo fortunes-es fortunes-ga fortunes-it
  fortunes-pl fortunes-ru fortunes-zh)

# usage: require_packages PACKAGE…
require_packages() {
  local package missing=()
  command -v dpkg-query >/dev/null || return 0 # not Debian: what is missing will show itself
  for package in "$@"; do
    # "ii": wanted, and installed.
    [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) == ?i* ]] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  is_root || fail "Debian packages are missing; install them with
  sudo apt-get install -y --no-install-recommends ${missing[*]}"
  say "installing ${missing[*]}"
  install_packages "${missing[@]}"
}

# Installs without starting any service and without making PostgreSQL's usual system cluster: Roost starts its own.
install_packages() {
  local no_services=/usr/sbin/policy-rc.d no_cluster=/etc/postgresql-common/createcluster.d/roost.conf log status=0
  local -a made=()
  log=$(mktemp)
  if [ ! -e "$no_services" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$no_services"
    chmod 755 "$no_services"
    made+=("$no_services")
  fi
  if [ ! -e "$no_cluster" ]; then
    mkdir -p "${no_cluster%/*}"
    say 'create_main_cluster = false' >"$no_cluster"
    made+=("$no_cluster")
  fi
  # A lock that another installation holds is waited for.
  local -a apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300)
  {
    "${apt[@]}" install --no-install-recommends "$@" || { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "$@"; }
  } </dev/null >"$log" 2>&1 || status=$?
  [ ${#made[@]} -eq 0 ] || rm -f -- "${made[@]}"
  if [ "$status" != 0 ]; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install $*"
  fi
  rm -f "$log"
}

require_swift() {
  command -v swift >/dev/null || fail "no Swift toolchain: 'swift' is not in PATH (Swift 6.1 or newer is needed)"
}
