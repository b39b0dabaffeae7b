# shellcheck shell=bash
# TCP ports, as /proc/net shows them.

# True unless something on this machine listens on port $1.
port_is_free() { [ -z "$(listener_inode "$1")" ]; }

# Prints the inode of a socket that listens on port $1, or nothing.
listener_inode() {
  local -a files=(/proc/net/tcp)
  if [ -r /proc/net/tcp6 ]; then files+=(/proc/net/tcp6); fi
  # Field 2 is the local address, "0100007F:1F90"; field 4 the state, 0A for LISTEN.
  awk -v port=":$(printf '%04X' "$1")" \
    '$4 == "0A" && substr($2, length($2) - 4) == port && !inode { inode = $10 } END { printf "%s", inode }' "${files[@]}"
}

# Who listens on port $1, for an error message; nothing if it cannot be told.
port_holder() {
  local inode fd pid
  inode=$(listener_inode "$1")
  [ -n "$inode" ] || return 0
  for fd in /proc/[0-9]*/fd/*; do
    if [ "$(readlink -- "$fd" 2>/dev/null)" = "socket:[$inode]" ]; then
      pid=${fd#/proc/}
      pid=${pid%%/*}
      printf ' by %s (process %s)' "$(read_line "/proc/$pid/comm")" "$pid"
      return 0
    fi
  done
}

# Prints the port remembered in FILE, chosen now if there was none.
#
# It is taken from below the range that the system gives to outgoing connections: one of those could hold it just when the
# part is restarted.
remembered_port() {
  local file=$1 port lowest=15000 highest tries
  port=$(read_line "$file")
  if [ -z "$port" ]; then
    read -r highest _ </proc/sys/net/ipv4/ip_local_port_range
    [ "$highest" -gt 16000 ] || { lowest=20000 && highest=65000; }
    for tries in {1..200}; do
      port=$((lowest + (RANDOM * 32768 + RANDOM) % (highest - lowest)))
      if port_is_free "$port"; then break; fi
      [ "$tries" -lt 200 ] || fail "found no free port between $lowest and $highest"
    done
    say "$port" | write_file "$file"
  fi
  printf '%s' "$port"
}

# The first of $1 free ports in a row.
free_ports() {
  local first port tries
  for tries in {1..200}; do
    first=$((17000 + RANDOM % 8000))
    for ((port = first; port < first + $1; port++)); do port_is_free "$port" || continue 2; done
    printf '%s' "$first"
    return
  done
  fail "found no $1 free ports in a row after $tries attempts"
}
