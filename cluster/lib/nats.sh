# shellcheck shell=bash
# The cluster's own nats-server, on loopback only. It keeps nothing on disk.

nats_port() { remembered_port "$data/nats/port"; }
nats_url() { printf 'nats://127.0.0.1:%s' "$(nats_port)"; }
nats_pid() { running_pid "$data/nats/process"; }

nats_program() {
  # Debian has it in /usr/sbin, which is not in every user's PATH.
  PATH=$PATH:/usr/sbin:/usr/local/sbin command -v nats-server || fail "nats-server was not found"
}

start_nats() {
  if nats_pid >/dev/null; then return 0; fi
  local port log="$data/log/nats.log" deadline=$((SECONDS + 20))
  port=$(nats_port)
  port_is_free "$port" || fail "port $port, NATS's since this cluster was made, is in use$(port_holder "$port")"
  spawn "$data/nats/process" "$log" "$(nats_program)" --addr 127.0.0.1 --port "$port"
  until ! port_is_free "$port"; do
    if ! nats_pid >/dev/null || [ "$SECONDS" -ge "$deadline" ]; then
      tail -n 20 "$log" >&2
      fail "nats-server did not start; its log is $log"
    fi
    sleep 0.05
  done
}

stop_nats() { stop_recorded "$data/nats/process" 10; }
