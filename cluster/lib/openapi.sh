# shellcheck shell=bash
# /openapi.json against a running node: schemathesis asks what the document allows, and what it does not, and looks at each answer.
#
# Nothing may answer with 5xx, with a status, a code, a header or a body that the document does not have, or take what the document
# refuses. Bounded by the number of examples, and made from a fixed seed: OPENAPI_SEED=N chooses another.

readonly schemathesis_version=4.32.5
readonly schemathesis_folder="$root/.build/schemathesis-$schemathesis_version"

install_schemathesis() {
  [ -x "$schemathesis_folder/bin/schemathesis" ] && return
  say "installing schemathesis into ${schemathesis_folder#"$root/"}"
  rm -rf -- "$schemathesis_folder"
  {
    python3 -m venv "$schemathesis_folder" &&
      "$schemathesis_folder/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$schemathesis_version"
  } </dev/null || {
    rm -rf -- "$schemathesis_folder"
    return 1
  }
}

# usage: check_openapi FOLDER (of the cluster that is made for it, and cleared away by the caller)
check_openapi() {
  local folder=$1 url status=0
  local -a bin=()
  if [ -n "${ROOST_TEST_BINARIES-}" ]; then bin=(--bin "$ROOST_TEST_BINARIES"); fi
  install_schemathesis || return 1
  ROOST_RATE_LIMITS=off "$root/cluster/up" --data "$folder" --nodes 1 --port "$(free_ports 1)" ${bin[@]+"${bin[@]}"} || return 1
  url=$(sed -nE 's/.*"url": *"(http[^"]*)".*/\1/p' "$folder/cluster.json" | head -n 1)
  # One worker, so that a seed replays.
  (cd "$folder" && ROOST_OPENAPI_URL=$url ROOST_OPENAPI_MAIL="$folder/mail" PYTHONDONTWRITEBYTECODE=1 \
    SCHEMATHESIS_HOOKS="$root/cluster/lib/openapi_hooks.py" \
    timeout --foreground 180 "$schemathesis_folder/bin/schemathesis" --config-file "$root/cluster/lib/schemathesis.toml" \
    run "$url/openapi.json" --no-color --workers 1 --seed "${OPENAPI_SEED:-1}" --max-examples "${OPENAPI_EXAMPLES:-25}" \
    --phases examples,coverage,fuzzing,stateful --checks all --exclude-checks positive_data_acceptance \
    --continue-on-failure --generation-database none) || status=$?
  "$root/cluster/down" --data "$folder" --wipe >/dev/null || status=1
  return "$status"
}

test_openapi() {
  [ -n "${ROOST_TEST_BINARIES-}" ] || build_release
  run_check "/openapi.json against a node" check_openapi "$test_folder/openapi"
}
