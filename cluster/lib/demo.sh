# shellcheck shell=bash
# A few users and chats, made over the public API like anyone's. A second run finds them and adds nothing.

readonly demo_password=roost-demo
demo_url=''
declare -A demo_token demo_id

demo() {
  demo_url=$1
  demo_user alice 'Alice Archer'
  demo_user bob 'Bob Baker'
  demo_user chloe 'Chloé Carpentier'
  local chat
  chat=$(demo_chat alice bob)
  demo_send alice "$chat" 1 'Hi Bob! This is Roost.'
  demo_send bob "$chat" 2 'Hello Alice. Which node are you on?'
  demo_send alice "$chat" 3 'No idea, it does not matter 🙂'
  chat=$(demo_chat chloe alice)
  demo_send chloe "$chat" 4 'Salut Alice, à demain ?'
  demo_send alice "$chat" 5 'Oui, à dix heures.'
  say "demo users: alice@example.com, bob@example.com and chloe@example.com, with the password $demo_password"
}

# Logs in, or registers.
demo_user() {
  local answer email="$1@example.com"
  answer=$(demo_post /v1/auth/login '' "{\"email\":\"$email\",\"password\":\"$demo_password\"}")
  if [[ $answer != *'"accessToken"'* ]]; then
    answer=$(demo_post /v1/auth/register '' "{\"email\":\"$email\",\"password\":\"$demo_password\",\"displayName\":\"$2\"}")
  fi
  demo_token[$1]=$(json_field accessToken "$answer")
  demo_id[$1]=$(json_field id "${answer#*\"user\"}")
  if [ -z "${demo_token[$1]}" ] || [ -z "${demo_id[$1]}" ]; then fail "the demo user $email could not be made: $answer"; fi
}

# Prints the id of the chat between two users.
demo_chat() {
  local answer id
  answer=$(demo_post /v1/conversations "${demo_token[$1]}" "{\"kind\":\"direct\",\"userId\":\"${demo_id[$2]}\"}")
  id=$(json_field id "$answer")
  [ -n "$id" ] || fail "a demo chat could not be made: $answer"
  printf '%s' "$id"
}

# usage: demo_send USER CHAT NUMBER TEXT (the number makes a second run send nothing again)
demo_send() {
  local answer
  answer=$(demo_post "/v1/conversations/$2/messages" "${demo_token[$1]}" "{\"clientId\":\"demo-$3\",\"type\":\"text\",\"text\":\"$4\"}")
  [[ $answer == *'"seq"'* ]] || fail "a demo message could not be sent: $answer"
}

# usage: demo_post PATH TOKEN BODY
demo_post() {
  local -a authorization=()
  if [ -n "$2" ]; then authorization=(-H "Authorization: Bearer $2"); fi
  curl -sS -m 10 -H 'Content-Type: application/json' "${authorization[@]}" --data-binary "$3" "$demo_url$1"
}

# Prints the first string field of name $1 in the JSON $2. Enough for the ids and tokens that the server makes.
json_field() {
  local pattern="\"$1\" *: *\"([^\"]*)\""
  if [[ $2 =~ $pattern ]]; then printf '%s' "${BASH_REMATCH[1]}"; fi
}
