#!/bin/sh
# Asks the gate of the service; exits with 0 only if the release is allowed.
# GATE_URL: the service's address. TENANT, TARGET, HEAD: the release. WAIT: seconds to wait for consent [1800].
# GATE_TOKEN: the CI job's ID token, if the answer shall be recorded. GATE_READ_TOKEN: needed if reads are protected.
set -eu
: "${GATE_URL:?}" "${TENANT:?}" "${TARGET:?}" "${HEAD:?}"

# The answer to a waiting release is 503 with Retry-After. Without --fail-with-body curl would exit with 0 on a refusal.
curl -sS --fail-with-body --get --retry 1000 --retry-max-time "${WAIT:-1800}" \
  ${GATE_READ_TOKEN:+-H "X-Svc-Read-Token: $GATE_READ_TOKEN"} -d answer=status \
  --data-urlencode "tenant_id=$TENANT" --data-urlencode "target=$TARGET" --data-urlencode "head=$HEAD" "$GATE_URL/api/gate"
echo
if [ -n "${GATE_TOKEN:-}" ]; then
  curl -sS --fail-with-body -H "Authorization: Bearer $GATE_TOKEN" -d answer=status \
    --data-urlencode "tenant_id=$TENANT" --data-urlencode "target=$TARGET" --data-urlencode "head=$HEAD" "$GATE_URL/api/gate"
  echo
fi
