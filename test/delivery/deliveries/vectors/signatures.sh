#!/bin/sh
# Prints test/delivery/deliveries/vectors/signatures.json: what openssl, and nothing of ours, signs deliveries with. Secrets are new in every run.
#   sh test/delivery/deliveries/vectors/signatures.sh > test/delivery/deliveries/vectors/signatures.json
set -eu

hex() { od -An -v -tx1 | tr -d ' \n'; }
sign() { openssl dgst -sha256 -mac HMAC -macopt "hexkey:$1" -binary; }
body() { i=0; while [ "$i" -lt "$2" ]; do printf '%s' "$1"; i=$((i + 1)); done; }
json() { printf '"%s"' "$(printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }')"; }

separator='['
# vector <id> <timestamp> <text of the body> <how many times>
vector() {
  secret="whsec_$(openssl rand -base64 66 | tr -d '\n')"
  text_key=$(printf '%s' "$secret" | hex)
  bytes_key=$(printf '%s' "${secret#whsec_}" | openssl base64 -d -A | hex)
  service=$(body "$3" "$4" | sign "$text_key" | hex)
  standard=$({ printf '%s.%s.' "$1" "$2"; body "$3" "$4"; } | sign "$bytes_key" | openssl base64 -A)
  printf '%s\n  {\n    "secret": "%s",\n    "id": "%s",\n    "timestamp": %s,\n    "text": %s,\n    "times": %s,\n' \
    "$separator" "$secret" "$1" "$2" "$(json "$3")" "$4"
  printf '    "service_signature": "v1,%s",\n    "webhook_signature": "v1,%s"\n  }' "$service" "$standard"
  separator=','
}

vector evt_00000000000000000000000001 1801627506 '' 1
vector evt_00000000000000000000000002 0 '{}' 1
vector evt_00000000000000000000000003 1801627506 '{"event":"webhook.test"}' 1
vector evt_00000000000000000000000004 1801627507 '{"razon":"Ñandú, S.A. de C.V.","total":"1160.00"}' 1
vector evt_00000000000000000000000005 1801627508 '{"emoji":"🧾💸","日本":"税","combining":"é"}' 1
vector evt_00000000000000000000000006 1801627509 '{ "spaces" :  "kept as they are" }' 1
vector evt_00000000000000000000000007 1801627510 '{
  "lines": [
    "one",
    "two"
  ]
}' 1
vector evt_00000000000000000000000008 1801627511 '{"escaped":"\u00e9 \" \\ \/"}' 1
vector evt_00000000000000000000000009 4102444800 'not JSON at all' 1
vector evt_0000000000000000000000000a 1801627512 '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef' 1
vector evt_0000000000000000000000000b 1801627513 '{"uuid":"6A6D0A9E-3C1E-4F0B-9E55-2F6F0D0C0B0A"},' 5000
vector evt_0000000000000000000000000c 1801627514 'ñ' 131072
printf '\n]\n'
