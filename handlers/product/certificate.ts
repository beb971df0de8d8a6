import * as z from "zod";
import { certificateOf } from "../../lib/governance/certificate.ts";
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
    new Response(await certificateOf(deps, change_id), {
      headers: {
        "content-type": "text/plain; charset=utf-8",
        "content-disposition": `attachment; filename="${change_id}.certificate"`,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      },
    }),
);
