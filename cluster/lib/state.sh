# shellcheck shell=bash
# cluster.json: where everything is, for clients, tests and tools. Written anew after each change.
#
# A part that was stopped by command stands in it with "pid": null.

write_cluster_file() {
  (
    flock 6
    cluster_file | write_file "$data/cluster.json"
  ) 6>>"$data/lock.json"
}

cluster_file() {
  local name separator=
  printf '{\n  "nodes": ['
  for name in $(node_names); do
    printf '%s\n    {"name": %s, "url": %s, "adminUrl": %s, "pid": %s}' "$separator" "$(json_string "$name")" \
      "$(json_string "$(node_url "$name")")" "$(json_string "http://127.0.0.1:$(node_admin_port "$name")")" \
      "$(node_pid "$name" || printf null)"
    separator=,
  done
  printf '\n  ],\n'
  printf '  "nats": {"url": %s, "pid": %s},\n' "$(json_string "$(nats_url)")" "$(nats_pid || printf null)"
  printf '  "postgres": {"url": %s, "pid": %s},\n' "$(json_string "$(postgres_url)")" "$(postgres_pid || printf null)"
  printf '  "adminToken": %s,\n' "$(json_string "$(admin_token)")"
  printf '  "mailDirectory": %s\n}\n' "$(json_string "$data/mail")"
}
