#!/bin/sh
# Exits with 0 when the release is allowed, and with anything else when it is not.
# GATE_URL: of the service. TENANT, TARGET, HEAD: the release. WAIT: seconds to wait for consent [1800].
# GATE_TOKEN: the CI job's own token; then the answer is recorded. GATE_READ_TOKEN: where reads are protected.
set -eu
: "${GATE_URL:?}" "${TENANT:?}" "${TARGET:?}" "${HEAD:?}"

# A waiting release is 503 with Retry-After. Without --fail-with-body a refusal would exit with 0.
curl -sS --fail-with-body --get --retry 1000 --retry-max-time "${WAIT:-1800}" \
  ${GATE_READ_TOKEN:+-H "X-Svc-Read-Token: $GATE_READ_TOKEN"} -d answer=status \
  --data-urlencode "tenant_id=$TENANT" --data-urlencode "target=$TARGET" --data-urlencode "head=$HEAD" "$GATE_URL/api/gate"
echo
if [ -n "${GATE_TOKEN:-}" ]; then
  curl -sS --fail-with-body -H "Authorization: Bearer $GATE_TOKEN" -d answer=status \
    --data-urlencode "tenant_id=$TENANT" --data-urlencode "target=$TARGET" --data-urlencode "head=$HEAD" "$GATE_URL/api/gate"
  echo
fi
