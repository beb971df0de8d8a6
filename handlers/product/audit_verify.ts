import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { verifyReport } from "../../lib/governance/verify_report.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { wholeNumber } from "../../lib/http/form.ts";
import { answer } from "../../lib/http/answer.ts";

/** GET /api/product/audit/verify: checks the whole chain, and holds it against what the caller kept of it. */
export const auditVerify = endpoint(
  {
    method: "GET",
    path: "/api/product/audit/verify",
    summary: "Verify the audit chain",
    product: true,
    input: z.object({
      expected_length: wholeNumber(0).optional(),
      expected_head: z
        .string()
        .regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits")
        .optional(),
    }),
    output: z.object({
      valid: z.boolean(),
      length: z.number().int(),
      head: z.string(),
      first_invalid: z.number().int().nullable(),
      reason: z.string().nullable(),
      /** What this answer cannot show; a kept length and head take both off the list. */
      not_checked: z.array(z.enum(["tail_truncation", "full_rewrite", "state_mismatch"])),
      /** How the stored changes compare with what the log says of them; `null` where the chain itself is broken. */
      state: z
        .object({
          compared: z.number().int(),
          mismatched: z.number().int(),
          mismatches: z.array(z.object({ change_id: z.string(), fields: z.array(z.string()) })),
          unsettled: z.number().int(),
        })
        .nullable(),
    }),
  },
  async (kept, { deps }: Call<GovernanceDeps>) => answer(await verifyReport(deps, kept)),
);
