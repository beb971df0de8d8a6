import * as z from "zod";
import { certificateOf } from "../../lib/governance/certificate.ts";
import { plainResponse } from "../../lib/http/answer.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId } from "../../lib/http/form.ts";
import type { PulseDeps } from "../../lib/pulse/deps.ts";

/** GET /api/product/changes/<id>/certificate: who consented to what and under which rules, in a file that is checked offline. */
export const certificate = endpoint(
  {
    method: "GET",
    path: "/api/product/changes/:change_id/certificate",
    summary: "Certificate of one change",
    product: true,
    input: z.object({ change_id: changeId }),
    output: z
      .string()
      .meta({ contentMediaType: "text/plain", description: "Content, intents and proofs in one file." }),
    errors: ["change_not_found", "approval_stale", "chain_broken"],
  },
  async ({ change_id }, { deps }: Call<PulseDeps>) =>
    plainResponse(await certificateOf(deps, change_id), {
      "content-disposition": `attachment; filename="${change_id}.certificate"`,
    }),
);
