/** A proof as it is sent and kept: what a passkey or `ssh-keygen -Y sign` gives. */
import * as z from "zod";

const text = z.string("must be text").max(8000, "must have at most 8000 characters");

export const proofSchema = z.discriminatedUnion(
  "type",
  [
    z.strictObject({
      type: z.literal("webauthn"),
      /** These four in base64url without padding. */
      credential_id: text,
      authenticator_data: text,
      client_data_json: text,
      signature: text,
    }),
    /** An armoured SSHSIG of the namespace `countersign-consent`. */
    z.strictObject({ type: z.literal("ssh"), signature: text }),
  ],
  "must have the type webauthn or ssh",
);
export type Proof = z.infer<typeof proofSchema>;
export type Assertion = Extract<Proof, { type: "webauthn" }>;
