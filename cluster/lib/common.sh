# shellcheck shell=bash
# What every command of cluster/ shares: words to people, the options, the folder of a cluster, the locks.
#
# Written for the bash, coreutils and util-linux that every Debian has; curl, PostgreSQL and nats-server are installed by
# packages.sh.

set -euo pipefail

# The checkout.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly root

say() { printf '%s\n' "$*"; }

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

is_root() { [ "$(id -u)" = 0 ]; }

# A string as JSON. What stands in cluster.json are names, paths, URLs and tokens; of the characters that must be escaped,
# these can hold only the two.
json_string() {
  local text=${1//\\/\\\\}
  printf '"%s"' "${text//\"/\\\"}"
}

# Cryptographically random, 32 hexadecimal digits.
random_token() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# --- The folder of a cluster ---------------------------------------------------------------------------------------------
#
#   cluster.json        what clients and tests need to know (docs/operations.md)
#   bin/<build>/        the programs, a folder for each build in use; bin/current names the newest
#   nodes/<name>/       port, admin-port, process (see process.sh), launched (what it was started from)
#   nats/ postgres.d/   port, process; password
#   postgres/           the database's data, or a link to them (see postgres.sh)
#   log/ mail/
#   settings            the ROOST_… variables that `up` was given, passed to every node
#   roost-cluster       marks the folder as a cluster's, so that --wipe cannot take another
#   lock

data=''
readonly default_data="$root/.roost"

# Sets `data` to the absolute path of $1.
choose_data() {
  case $1 in
    # pg_ctl hands the name to a shell, in double quotes.
    *[$'\n"\\$`']*) fail "a folder's name with a line break, a quote, \\, \$ or \` cannot be used" ;;
    '') fail "--data needs a folder" ;;
  esac
  data=$(realpath -m -- "$1")
}

# Makes the folder, unless it is already a cluster's.
make_data() {
  if [ ! -e "$data/roost-cluster" ]; then
    if [ -d "$data" ] && [ -n "$(ls -A -- "$data")" ]; then
      fail "$data has other files in it; choose another folder with --data"
    fi
    mkdir -p -- "$data"
    : >"$data/roost-cluster"
  fi
  mkdir -p -- "$data"/{bin,log,mail,nats,nodes,postgres.d}
  chmod 700 "$data"/{log,mail,nats,nodes,postgres.d}
}

require_data() {
  [ -e "$data/roost-cluster" ] || fail "there is no cluster in $data; cluster/up makes one"
}

# The text of a one-line file, or nothing.
read_line() {
  local line=''
  if [ -r "$1" ]; then IFS= read -r line <"$1" || true; fi
  printf '%s' "$line"
}

# Writes standard input to a file that others never see half written; nobody else may read it.
write_file() {
  local new
  new=$(mktemp -- "$1.XXXXXX")
  cat >"$new"
  mv -f -- "$new" "$1"
}

# --- Locks -----------------------------------------------------------------------------------------------------------------
#
# `up` and `down` hold the cluster alone (descriptor 8). Commands for one part hold the cluster together with others, and
# their part alone (descriptor 9), so that tests can stop one node while another starts.

lock_cluster_alone() { take_lock 8 --exclusive "$data/lock" "cluster in $data"; }

lock_part() {
  take_lock 8 --shared "$data/lock" "cluster in $data"
  take_lock 9 --exclusive "$data/lock.$1" "$1"
}

take_lock() {
  local descriptor=$1 mode=$2 file=$3 what=$4
  eval "exec $descriptor>>\"\$file\""
  if ! flock "$mode" --nonblock "$descriptor"; then
    say "waiting for another command that works on the $what"
    flock "$mode" --timeout 300 "$descriptor" || fail "another command still works on the $what; gave up after 5 minutes"
  fi
  # `down --wipe` may have removed the file while this command waited; a lock on a removed file guards nothing.
  if [ ! "/dev/fd/$descriptor" -ef "$file" ]; then
    [ -d "$data" ] || fail "the cluster in $data was removed meanwhile"
    take_lock "$@"
  fi
}
