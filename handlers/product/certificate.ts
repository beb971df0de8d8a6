import * as z from "zod";
import { makeCertificate } from "../../lib/changes/certificate.ts";
import { plainResponse } from "../../lib/http/answer.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { changeId } from "../../lib/kit/fields.ts";
import type { OperationsDeps } from "../../lib/operations/deps.ts";

/** GET /api/product/changes/<id>/certificate: a file that proves offline who consented to a change, and under which rules. */
export const certificate = endpoint(
  {
    method: "GET",
    path: "/api/product/changes/:change_id/certificate",
    summary: "Certificate of one change",
    operation: "getCertificate",
    description: "Proves offline who consented to the content; verify with countersign-verify.",
    example: { change_id: CHANGE_ID },
    ownReads: "filtered",
    product: true,
    input: () => z.object({ change_id: changeId().describe("Id of the change.") }),
    output: () =>
      z.string().meta({ contentMediaType: "text/plain", description: "Content, intents and proofs in one file." }),
    errors: ["change_not_found", "evidence_mismatch", "approval_stale", "chain_broken"],
  },
  async ({ change_id }, { deps }: Call<OperationsDeps>) =>
    plainResponse(await makeCertificate(deps, change_id), {
      "content-disposition": `attachment; filename="${change_id}.certificate"`,
    }),
);
