# shellcheck shell=bash
# The cluster's own PostgreSQL: data under the cluster's folder, loopback only, a password that only this cluster knows.
#
# PostgreSQL refuses to run as root; then it runs as the user postgres that Debian's package makes. That user cannot reach a
# folder below, say, /root: the data then lie under /var/lib/postgresql, and $data/postgres is a link to them.

readonly postgres_role=roost

postgres_programs() {
  local folder
  for folder in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV); do
    if [ -x "$folder/initdb" ]; then printf '%s' "$folder" && return; fi
  done
  folder=$(pg_config --bindir 2>/dev/null || true)
  [ -x "$folder/initdb" ] || fail "PostgreSQL's server programs were not found"
  printf '%s' "$folder"
}

# Runs one of PostgreSQL's programs as the user that owns the data.
as_postgres() (
  local command=$1
  shift
  cd /
  if is_root; then
    runuser -u postgres -- "$(postgres_programs)/$command" "$@"
  else
    "$(postgres_programs)/$command" "$@"
  fi
)

postgres_data() { realpath -- "$data/postgres"; }
postgres_port() { remembered_port "$data/postgres.d/port"; }
postgres_url() {
  printf 'postgresql://%s:%s@127.0.0.1:%s/roost' "$postgres_role" "$(read_line "$data/postgres.d/password")" "$(postgres_port)"
}

# Prints the pid of the server on our data, if it runs. Its working folder tells it from a later process of the same number.
postgres_pid() {
  local folder pid
  folder=$(postgres_data 2>/dev/null) || return 1
  pid=$(read_line "$folder/postmaster.pid")
  [ -n "$pid" ] && [ "$(readlink "/proc/$pid/cwd" 2>/dev/null)" = "$folder" ] && start_time "$pid" >/dev/null || return 1
  printf '%s' "$pid"
}

start_postgres() {
  if postgres_pid >/dev/null; then return 0; fi
  [ -e "$data/postgres/PG_VERSION" ] || make_postgres
  local port log="$data/log/postgres.log" folder
  port=$(postgres_port)
  folder=$(postgres_data)
  port_is_free "$port" || fail "port $port, PostgreSQL's since this cluster was made, is in use$(port_holder "$port")"
  write_postgres_settings "$port"
  # What a killed server left would keep a new one from starting if another process now has its number.
  local old
  old=$(read_line "$folder/postmaster.pid")
  if [ -n "$old" ] && [ "$(readlink "/proc/$old/cwd" 2>/dev/null)" != "$folder" ]; then
    wait_for_postgres_children "$folder"
    rm -f -- "$folder/postmaster.pid"
  fi
  trap '' INT TERM HUP
  if ! (close_descriptors && as_postgres pg_ctl start -s -w -t 60 -D "$folder" </dev/null >>"$log" 2>&1); then
    tail -n 20 "$log" >&2
    fail "PostgreSQL did not start; its log is $log"
  fi
  trap - INT TERM HUP
  make_database
}

# The children of a killed server end by themselves; a new one must not meet them.
wait_for_postgres_children() {
  local deadline=$((SECONDS + 30)) link
  while :; do
    for link in /proc/[0-9]*/cwd; do
      if [ "$(readlink -- "$link" 2>/dev/null)" = "$1" ]; then
        [ "$SECONDS" -lt "$deadline" ] || fail "processes of a killed PostgreSQL still run in $1"
        sleep 0.1
        continue 2
      fi
    done
    return 0
  done
}

stop_postgres() {
  local pid
  pid=$(postgres_pid) || return 0
  kill -CONT "$pid" 2>/dev/null || true
  as_postgres pg_ctl stop -s -m fast -w -t 30 -D "$(postgres_data)" >>"$data/log/postgres.log" 2>&1 ||
    as_postgres pg_ctl stop -s -m immediate -w -t 30 -D "$(postgres_data)" >>"$data/log/postgres.log" 2>&1 ||
    fail "PostgreSQL (process $pid) does not stop"
}

# Makes the data in a folder of another name first: half-made data are never taken for whole ones.
make_postgres() {
  say "making the database"
  local folder="$data/postgres" log="$data/log/initdb.log"
  remove_postgres
  rm -rf -- "$folder"
  if is_root && ! runuser -u postgres -- test -x "$data"; then
    folder=$(runuser -u postgres -- mktemp -d /var/lib/postgresql/roost.XXXXXX)/data
    ln -s -- "$folder" "$data/postgres"
  fi
  rm -rf -- "$folder.new"
  mkdir -m 700 -- "$folder.new"
  [ -s "$data/postgres.d/password" ] || random_token | write_file "$data/postgres.d/password"
  cp -- "$data/postgres.d/password" "$folder.new.password"
  if is_root; then chown postgres: "$folder.new" "$folder.new.password"; fi
  as_postgres initdb -D "$folder.new" --username=postgres --pwfile="$folder.new.password" --auth-local=reject \
    --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    fail "initdb failed"
  }
  say "include 'roost.conf'" >>"$folder.new/postgresql.conf"
  rm -f -- "$folder.new.password"
  mv -- "$folder.new" "$folder"
}

write_postgres_settings() {
  local folder
  folder=$(postgres_data)
  cat >"$folder/roost.conf" <<END
# Written by cluster/up at each start.
listen_addresses = '127.0.0.1'
port = $1
unix_socket_directories = ''
max_connections = 200
shared_buffers = 256MB
# An acknowledged message is on disk.
fsync = on
synchronous_commit = on
max_wal_size = 2GB
min_wal_size = 256MB
checkpoint_timeout = 15min
wal_compression = on
random_page_cost = 1.1
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] %a '
# Without the details of an error, which show what people wrote.
log_error_verbosity = terse
END
  if is_root; then chown postgres: "$folder/roost.conf"; fi
}

# The role and database of the nodes, if they are not there yet.
make_database() {
  [ ! -e "$data/postgres.d/made" ] || return 0
  local password
  password=$(read_line "$data/postgres.d/password")
  PGPASSWORD=$password psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$(postgres_port)" -U postgres -d postgres \
    >>"$data/log/postgres.log" 2>&1 <<END || fail "the database could not be made; see $data/log/postgres.log"
SELECT 'CREATE ROLE $postgres_role LOGIN PASSWORD ''$password''' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '$postgres_role') \gexec
SELECT 'CREATE DATABASE roost OWNER $postgres_role' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'roost') \gexec
END
  : >"$data/postgres.d/made"
}

migrate() {
  local log="$data/log/migrate.log"
  (cd "$root" && ROOST_POSTGRES_URL=$(postgres_url) "$(program roostctl)" migrate </dev/null >"$log" 2>&1) || {
    tail -n 20 "$log" >&2
    fail "the database could not be migrated"
  }
}

# Removes the data where they do not lie under the cluster's folder.
remove_postgres() {
  local folder
  if [ -L "$data/postgres" ]; then
    folder=$(readlink -- "$data/postgres")
    if [[ $folder == /var/lib/postgresql/roost.??????/data ]]; then rm -rf -- "${folder%/data}"; fi
  fi
}
