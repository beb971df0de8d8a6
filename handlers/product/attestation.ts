import * as z from "zod";
import { attest } from "../../lib/changes/gate/attest.ts";
import { answer } from "../../lib/http/answer.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { AppError } from "../../lib/kit/errors.ts";
import { changeId } from "../../lib/kit/fields.ts";
import type { OperationsDeps } from "../../lib/operations/deps.ts";

/** GET /api/product/changes/<id>/attestation: a signed statement that a change is in force, for other verifiers. */
export const attestation = endpoint(
  {
    method: "GET",
    path: "/api/product/changes/:change_id/attestation",
    summary: "Attestation of a change in force",
    operation: "getAttestation",
    description: "An in-toto Statement in a DSSE envelope, for cosign and other verifiers.",
    example: { change_id: CHANGE_ID },
    ownReads: "filtered",
    product: true,
    input: () => z.object({ change_id: changeId().describe("Id of the change.") }),
    output: () =>
      z.object({
        payloadType: z.string().describe("`application/vnd.in-toto+json`"),
        payload: z.string().describe("The Statement, as base64 of its JSON."),
        signatures: z
          .array(
            z.object({
              keyid: z.string().describe("SHA-256 (hex) of the key's SPKI."),
              sig: z.string().describe("Ed25519 signature, as base64."),
            }),
          )
          .describe("A signature."),
      }),
    errors: ["not_found", "change_not_found", "evidence_mismatch", "approval_stale", "not_in_force", "chain_broken"],
  },
  async ({ change_id }, { deps }: Call<OperationsDeps>) => {
    const { attestationSigner: signer, publicUrl } = deps;
    if (!signer) throw new AppError("not_found", "this service attests nothing; start it with --attestation-key PATH");
    return answer(await attest(deps, change_id, { signer, publicUrl }));
  },
);
