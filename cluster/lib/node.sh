# shellcheck shell=bash
# Nodes: roostd processes.

readonly stop_seconds=30  # a node drains for up to 10 s by itself
readonly ready_seconds=90 # a first start waits for leases of earlier lives to run out

node_names() {
  local folder
  for folder in "$data"/nodes/*/; do
    if [ -d "$folder" ]; then folder=${folder%/} && say "${folder##*/}"; fi
  done | sort -V
}

node_port() { read_line "$data/nodes/$1/port"; }
node_url() { printf 'http://127.0.0.1:%s' "$(node_port "$1")"; }
node_admin_port() { remembered_port "$data/nodes/$1/admin-port"; }
node_pid() { running_pid "$data/nodes/$1/process"; }
admin_token() { read_line "$data/nodes/admin-token"; }

make_node() {
  mkdir -p -- "$data/nodes/$1"
  say "$2" | write_file "$data/nodes/$1/port"
}

require_node() {
  [ -n "$1" ] && [[ $1 != */* ]] && [ -d "$data/nodes/$1" ] || fail "there is no node '$1'; there are: $(node_names | paste -sd ' ')"
}

# What a node is started from: when it changes, a running node is out of date. (A checksum: settings may be secret.)
launch_of() {
  local sum
  sum=$({ current_build && node_port "$1" && merged_settings; } | sha256sum)
  printf '%s' "${sum:0:16}"
}

is_outdated() { [ "$(read_line "$data/nodes/$1/launched")" != "$(launch_of "$1")" ]; }

share_of_cores() {
  local cores
  cores=$(($(nproc) / $(node_names | wc -l)))
  printf '%s' "$((cores > 1 ? cores : 1))"
}

# Starts a node that does not run; does not wait until it is ready.
start_node() {
  local name=$1 port
  if node_pid "$name" >/dev/null; then return 0; fi
  port=$(node_port "$name")
  require_free_port "$port"
  launch_of "$name" | write_file "$data/nodes/$name/launched"
  (
    export_settings
    export ROOST_NODE_NAME=$name ROOST_PORT=$port
    ROOST_ADMIN_PORT=$(node_admin_port "$name")
    ROOST_POSTGRES_URL=$(postgres_url)
    ROOST_NATS_URL=$(nats_url)
    ROOST_ADMIN_TOKEN=$(admin_token)
    export ROOST_ADMIN_PORT ROOST_POSTGRES_URL ROOST_NATS_URL ROOST_ADMIN_TOKEN
    export ROOST_HOST=${ROOST_HOST:-127.0.0.1} ROOST_MAIL_DIRECTORY=${ROOST_MAIL_DIRECTORY:-$data/mail}
    # The nodes share this machine's cores.
    export ROOST_EDGE_LOOPS=${ROOST_EDGE_LOOPS:-$(share_of_cores)} ROOST_LANES=${ROOST_LANES:-$(share_of_cores)}
    ulimit -n "$(ulimit -Hn)" # a socket is a file
    cd "$data"
    spawn "$data/nodes/$name/process" "$data/log/$name.log" "$(program roostd)"
  )
}

# Makes the environment's ROOST_… variables those of the settings, and no others.
export_settings() {
  local name line settings
  settings=$(merged_settings)
  for name in $(compgen -e ROOST_ || true); do unset "$name"; done
  while IFS= read -r line; do
    if [ -n "$line" ]; then export "${line?}"; fi
  done <<<"$settings"
}

require_free_port() {
  port_is_free "$1" || fail "port $1 is in use$(port_holder "$1"); choose other ports with --port"
}

stop_node() { stop_recorded "$data/nodes/$1/process" "$stop_seconds"; }

# Waits until every named node answers that it is ready; says why if one does not.
wait_until_ready() {
  local name deadline=$((SECONDS + ready_seconds)) log status
  for name in "$@"; do
    log="$data/log/$name.log"
    until status=$(curl -s -o /dev/null -m 2 -w '%{http_code}' "$(node_url "$name")/readyz") && [ "$status" = 200 ]; do
      if ! node_pid "$name" >/dev/null; then
        tail -n 20 "$log" >&2
        fail "$name ended; its log is $log"
      fi
      if [ "$SECONDS" -ge "$deadline" ]; then
        tail -n 20 "$log" >&2
        fail "$name is not ready after $ready_seconds s ($(node_url "$name")/readyz answers $status); its log is $log"
      fi
      sleep 0.1
    done
  done
}
