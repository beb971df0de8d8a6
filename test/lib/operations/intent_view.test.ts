/** The keys and the policy in the reply of `GET /api/product/intent`. */
import { expect, test } from "vitest";
import { passkey, sshSigner } from "../../support/passkeys.ts";
import { service } from "../../support/service.ts";
import { person } from "../../support/signed.ts";

test("the intent is shown with only those details of signing keys that a page needs", async () => {
  const local = passkey("ES256", { rp_id: "localhost", origins: ["http://localhost:8420"] });
  const principals = { Ana: person(local), bo: person(sshSigner("ssh-ed25519")), eve: { kind: "person" } };
  const { keys, policy } = (await (await service({ intent: { principals } })).get("intent")).body;
  const { credential_id, rp_id, origins } = local.key;
  const id = expect.stringMatching(/^SHA256:/);
  expect(keys).toEqual({
    ana: [{ id, type: "webauthn", credential_id, rp_id, origins }],
    bo: [{ id, type: "ssh", unattended: true }],
  });
  // The intent does not set it: it is true as soon as a principal has keys.
  expect(policy.signed_only).toBe(true);
});
