import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { verifyReport } from "../../lib/changes/verify_report.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { integer } from "../../lib/kit/fields.ts";
import { answer } from "../../lib/http/answer.ts";

const endSchema = () =>
  z.object({
    length: z.number().int().describe("Number of entries in the log."),
    head: z.string().meta({
      description: "current_hash of the last entry.",
      examples: ["a38b13eb…"],
    }),
  });

const lossSchema = () =>
  z.object({
    entry: z.number().int().describe("Id of the entry loss_accepted."),
    at: z.string().meta({ description: "Time of the acceptance.", examples: ["2026-11-20T09:30:00.000Z"] }),
    actor: z.string().meta({ description: "The person who accepted it.", examples: ["ops@acme.example"] }),
    note: z.string().meta({ description: "Note of that person.", examples: ["The failover of 09:12."] }),
    known: endSchema()
      .extend({ head: endSchema().shape.head.nullable() })
      .describe("The known end of the log before; head is null if unknown."),
    continues: endSchema().describe("The end after which the log continues."),
    message: z.string().meta({
      description: "The possible loss.",
      examples: ["entries after 1190 up to 1204 may have been acknowledged and are lost"],
    }),
  });

/** GET /api/product/audit/verify: verifies the complete chain, also against a length and head that the caller stored. */
export const auditVerify = endpoint(
  {
    method: "GET",
    path: "/api/product/audit/verify",
    summary: "Verify the audit chain",
    operation: "verifyAuditLog",
    description: "Recomputes the chain and compares stored changes with it; an earlier head also shows rewriting.",
    example: { expected_length: 12 },
    product: true,
    input: () =>
      z.object({
        expected_length: integer(0).optional().describe("Number of entries at your last check."),
        expected_head: z
          .string()
          .regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits")
          .optional()
          .describe("current_hash of the last entry at your last check, hex."),
      }),
    output: () =>
      z.object({
        valid: z.boolean().describe("True if no fault was found."),
        length: z.number().int().describe("Number of entries now."),
        head: z.string().meta({
          description: "current_hash of the last entry; 64 zeros without entries.",
          examples: ["a38b13eb…"],
        }),
        first_invalid: z.number().int().nullable().describe("Id of the first invalid entry; null if all are valid."),
        reason: z.string().nullable().describe("The fault; null if none."),
        losses: z.array(lossSchema()).describe("Losses of the log's end that were accepted, oldest first."),
        not_checked: z
          .array(z.enum(["tail_truncation", "full_rewrite", "state_mismatch"]))
          .describe(
            "Faults that this answer cannot exclude: the first two without a stored length and head, the third if the chain is broken.",
          ),
        state: z
          .object({
            compared: z.number().int().describe("Number of compared changes."),
            mismatched: z.number().int().describe("Number of changes that differ."),
            mismatches: z
              .array(
                z.object({
                  change_id: z.string().describe("The change."),
                  fields: z
                    .array(z.string())
                    .meta({ description: "Names of the fields that differ.", examples: [["status"]] }),
                }),
              )
              .describe("The first few that differ."),
            unsettled: z.number().int().describe("Number of changes not compared because an operation runs."),
          })
          .nullable()
          .describe("Stored changes compared with the log; null if the chain is broken."),
      }),
  },
  async (expected, { deps }: Call<ChangesDeps>) => answer(await verifyReport(deps, expected)),
);
