import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { entrySchema } from "../../lib/audit/entry.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId } from "../../lib/http/form.ts";
import { changeSchema } from "../../lib/governance/rules/change.ts";
import { gateSchema } from "../../lib/governance/rules/gates.ts";
import { missingSchema } from "../../lib/governance/rules/missing.ts";
import { signerSchema } from "../../lib/governance/rules/signers.ts";
import { outcomeSchema } from "../../lib/governance/rules/outcome.ts";
import { changeEvidence, evidenceSchema } from "../../lib/link/evidence.ts";
import { changeDetail } from "../../lib/pulse/change_views.ts";
import { answer, etag } from "../../lib/http/answer.ts";

/** GET /api/product/changes/<id>: one change with its entries, outcome, allowed actions and gates. */
export const change = endpoint(
  {
    method: "GET",
    path: "/api/product/changes/:change_id",
    summary: "One change",
    product: true,
    input: z.object({ change_id: changeId }),
    output: changeSchema.extend({
      audit_entries: z.array(entrySchema),
      outcome: outcomeSchema.nullable(),
      allowed_actions: z.array(z.string()),
      /** Whose consent is still missing, by rule. */
      missing: z.array(missingSchema),
      /** Who consented, and how that is known. */
      signers: z.array(signerSchema),
      gates: z.array(gateSchema),
      /** What similar changes achieved, here and at peers; it never touches tier or consent. */
      evidence: evidenceSchema.nullable(),
    }),
    errors: ["change_not_found"],
  },
  async ({ change_id }, { deps }: Call<GovernanceDeps>) => {
    const detail = await changeDetail(deps, change_id);
    const evidence = await changeEvidence(deps.store, detail);
    return answer({ ...detail, evidence }, 200, { etag: etag(detail.revision) });
  },
);
