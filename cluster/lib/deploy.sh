# shellcheck shell=bash
# The files of deploy/: each looked at by the program that will read it, and HAProxy and nginx put in front of a real cluster.
#
# What a machine does not have is named and left out; the checks in deploy_test.py run everywhere.

readonly deploy_packages=(haproxy nginx prometheus systemd)
readonly validate_version=1.37.0
readonly validate_folder="$root/.build/kubernetes-validate-$validate_version"

install_validate() {
  [ -x "$validate_folder/bin/kubernetes-validate" ] && "$validate_folder/bin/python" -c 'import websockets, yaml' 2>/dev/null && return
  say "installing kubernetes-validate and websockets into ${validate_folder#"$root/"}"
  rm -rf -- "$validate_folder"
  {
    python3 -m venv "$validate_folder" &&
      "$validate_folder/bin/pip" install --quiet --disable-pip-version-check "kubernetes-validate==$validate_version" \
        pyyaml websockets
  } </dev/null || {
    rm -rf -- "$validate_folder"
    return 1
  }
}

# Runs a check where its program is there, and says so where it is not.
# usage: with_program PROGRAM WHAT COMMAND…
with_program() {
  local program=$1 what=$2
  shift 2
  if PATH=$PATH:/usr/sbin:/usr/local/sbin command -v "$program" >/dev/null; then
    PATH=$PATH:/usr/sbin:/usr/local/sbin run_check "$what" "$@"
  else
    say "--- $what: left out, this machine has no $program"
  fi
}

# systemd-analyze wants the programs to be there, and an instance of the template.
check_units() {
  local folder=$1
  mkdir -p "$folder"
  cp "$root"/deploy/systemd/*.{service,target} "$folder"
  sed -i -E 's#^(ExecStart=)/usr/bin/roost[a-z]*#\1/bin/true#' "$folder"/*.service
  cp "$folder/roostd@.service" "$folder/roostd@node1.service"
  systemd-analyze verify "$folder/roostd@node1.service" "$folder/roost-migrate.service" "$folder/roost.target" 2>"$folder/words" || {
    cat "$folder/words"
    return 1
  }
  # Words about our units are faults too; words about others' are this machine's.
  ! grep -F roost "$folder/words"
}

check_nginx() { nginx -t -q -g "pid $1; error_log stderr;" -c "$root/deploy/proxy/nginx.conf"; }

check_rules() { promtool check rules "$root/deploy/monitoring/rules.yml" && promtool check config "$root/deploy/monitoring/prometheus.yml"; }

check_compose() {
  POSTGRES_PASSWORD=x ROOST_ADMIN_TOKEN=x docker compose -f "$root/deploy/compose/compose.yaml" config --quiet
}

# usage: check_deployed FOLDER (of the cluster that is made for it)
check_deployed() {
  local folder=$1 status=0
  local -a bin=()
  if [ -n "${ROOST_TEST_BINARIES-}" ]; then bin=(--bin "$ROOST_TEST_BINARIES"); fi
  "$root/cluster/up" --data "$folder" --nodes 3 --port "$(free_ports 3)" ${bin[@]+"${bin[@]}"} || return 1
  PYTHONDONTWRITEBYTECODE=1 PATH=$PATH:/usr/sbin timeout --foreground 120 "$validate_folder/bin/python" \
    "$root/cluster/lib/deploy_test.py" live "$folder/cluster.json" "$(free_ports 1)" || status=$?
  "$root/cluster/down" --data "$folder" --wipe >/dev/null || status=1
  return "$status"
}

test_deploy() {
  # In a subshell: where they cannot be installed, what needs them is left out below, by name.
  (require_packages "${deploy_packages[@]}") || true
  [ -n "${ROOST_TEST_BINARIES-}" ] || build_release
  with_program systemd-analyze "systemd's units" check_units "$test_folder/units"
  with_program haproxy "HAProxy's configuration" haproxy -c -q -f "$root/deploy/proxy/haproxy.cfg"
  with_program haproxy "HAProxy's configuration for compose" haproxy -c -q -f "$root/deploy/compose/haproxy.cfg"
  if is_root; then
    with_program nginx "nginx' configuration" check_nginx "$test_folder/nginx.pid"
  else
    say "--- nginx: left out, Debian's writes where only root may"
  fi
  with_program nats-server "the NATS servers' configuration" nats-server -t -c "$root/deploy/nats/nats.conf"
  with_program promtool "Prometheus' rules" check_rules
  if docker compose version >/dev/null 2>&1; then
    run_check "the compose file" check_compose
  else
    say "--- docker compose config: left out, this machine has no docker compose; its form is checked all the same"
  fi
  run_check "kubernetes-validate" install_validate
  if [ -x "$validate_folder/bin/kubernetes-validate" ]; then
    run_check "Kubernetes' schemas" "$validate_folder/bin/kubernetes-validate" --strict "$root"/deploy/kubernetes/{roost,migrate}.yaml
    run_check "what the files of deployment say to one another" "$validate_folder/bin/python" "$root/cluster/lib/deploy_test.py" files
    with_program haproxy "HAProxy and nginx before a cluster, and the metrics that rules and dashboard name" check_deployed "$test_folder/deployed"
  fi
}
