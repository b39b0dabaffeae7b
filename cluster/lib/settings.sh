# shellcheck shell=bash
# The ROOST_… variables for the nodes.
#
# `up` remembers those that it is given, so that a node which a later command starts is like the others. Given with an empty
# value, a setting is forgotten.

# What the launcher decides itself, whatever the environment says.
readonly own_settings=' ROOST_NODE_NAME ROOST_PORT ROOST_ADMIN_PORT ROOST_POSTGRES_URL ROOST_NATS_URL ROOST_ADMIN_TOKEN '

# Prints NAME=VALUE lines: the remembered settings, with the environment's in their place or added, sorted.
merged_settings() {
  local name line
  local -A values=()
  if [ -r "$data/settings" ]; then
    while IFS= read -r line; do values[${line%%=*}]=${line#*=}; done <"$data/settings"
  fi
  for name in $(compgen -e ROOST_ || true); do
    [[ $own_settings != *" $name "* ]] || continue
    [[ ${!name} != *$'\n'* ]] || fail "$name has a line break in its value"
    values[$name]=${!name}
  done
  for name in "${!values[@]}"; do
    if [ -n "${values[$name]}" ]; then printf '%s=%s\n' "$name" "${values[$name]}"; fi
  done | LC_ALL=C sort
}

remember_settings() { merged_settings | write_file "$data/settings"; }
