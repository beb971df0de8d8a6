/** A proof as it is sent and stored: the signature of a passkey or of `ssh-keygen -Y sign`. */
import * as z from "zod";
import { once } from "../../kit/once.ts";

export const proofSchema = once(() => {
  const text = z.string("must be text").max(8000, "must have at most 8000 characters");
  const webauthn = z.strictObject({
    type: z.literal("webauthn").describe("A passkey signed."),
    credential_id: text.describe("Id of the passkey, base64url without padding."),
    authenticator_data: text.describe("Authenticator data, base64url."),
    client_data_json: text.describe("Client data of the browser, base64url."),
    signature: text.describe("The signature over both, base64url."),
  });
  const ssh = z.strictObject({
    type: z.literal("ssh").describe("An SSH key signed."),
    signature: text.describe("Armoured SSHSIG, as ssh-keygen -Y sign -n countersign-consent makes it."),
  });
  return z
    .discriminatedUnion("type", [webauthn, ssh], "must have the type webauthn or ssh")
    .describe("Signature of the decision's statement; in a form, JSON text. People with keys must sign.");
});
export type Proof = z.infer<ReturnType<typeof proofSchema>>;
export type Assertion = Extract<Proof, { type: "webauthn" }>;
