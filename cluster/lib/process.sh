# shellcheck shell=bash
# Processes: started detached, remembered with what tells them from a later process of the same number, stopped in bounded time.
#
# A record is a file with the line "<pid> <start time> <boot id>". The start time is in clock ticks since boot (proc(5), stat
# field 22), so the three name one process for good.

# Prints the start time of process $1; fails if there is none, or only its remains.
start_time() {
  local stat
  { IFS= read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
  # The name in field 2 may hold blanks and brackets: count from its end. What is left begins with field 3, the state.
  local -a fields
  read -ra fields <<<"${stat##*) }"
  [ "${fields[0]}" != Z ] && [ "${fields[0]}" != X ] || return 1
  printf '%s' "${fields[19]}"
}

boot_id() { read_line /proc/sys/kernel/random/boot_id; }

record_process() { printf '%s %s %s\n' "$2" "$(start_time "$2" || true)" "$(boot_id)" | write_file "$1"; }

# Prints the pid of the process in record $1, if that very process runs.
running_pid() {
  local pid started boot
  { read -r pid started boot <"$1"; } 2>/dev/null || return 1
  [ -n "$started" ] && [ "$boot" = "$(boot_id)" ] && [ "$(start_time "$pid")" = "$started" ] || return 1
  printf '%s' "$pid"
}

# Runs COMMAND in a session of its own, with no input, its output appended to LOG, and records it in RECORD.
# usage: spawn RECORD LOG COMMAND [ARGUMENT…]
#
# setsid and env replace themselves by what they start, so the pid is the command's own.
spawn() {
  local record=$1 log=$2
  shift 2
  # An interrupt between the start and the record would leave a process that nobody knows.
  trap '' INT TERM HUP
  (
    close_descriptors
    exec setsid env --default-signal "$@" </dev/null >>"$log" 2>&1
  ) &
  record_process "$record" $!
  trap - INT TERM HUP
}

# Leaves only the standard three open: a lock or a caller's pipe must not live on in what is started.
close_descriptors() {
  local path number
  for path in "/proc/$BASHPID/fd"/*; do
    number=${path##*/}
    if [ "$number" -gt 2 ]; then eval "exec $number>&-"; fi
  done
}

# Asks the process in RECORD to stop, and ends it after SECONDS. No harm if it does not run.
# usage: stop_recorded RECORD SECONDS
stop_recorded() {
  local pid
  if pid=$(running_pid "$1"); then
    kill -TERM "$pid" 2>/dev/null || true
    kill -CONT "$pid" 2>/dev/null || true # one that is halted would not hear it
    if ! wait_for_end "$1" "$2"; then
      kill -KILL "$pid" 2>/dev/null || true
      wait_for_end "$1" 10 || fail "process $pid does not end, not even killed"
    fi
  fi
  rm -f -- "$1"
}

# usage: wait_for_end RECORD SECONDS
wait_for_end() {
  local deadline=$((SECONDS + $2 + 1))
  while running_pid "$1" >/dev/null; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.05
  done
}

# Prints the pids of all processes whose program lies under folder $1.
pids_of_programs_in() {
  local link program
  for link in /proc/[0-9]*/exe; do
    program=$(readlink -- "$link" 2>/dev/null) || continue
    if [[ $program == "$1"/* ]]; then link=${link%/exe} && say "${link#/proc/}"; fi
  done
}
