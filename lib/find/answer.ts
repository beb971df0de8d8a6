/** The schema of the answer to a query, and the conversion of rows to it. */
import * as z from "zod";
import { changeSchema } from "../changes/rules/change.ts";
import { findTimeLimit } from "../changes/rules/current_state.ts";
import type { Policy } from "../changes/rules/intent.ts";
import { VERDICTS } from "../changes/rules/outcome.ts";
import { once } from "../kit/once.ts";
import { listApprovers, type FoundRow } from "./row.ts";

const SHOWN_FIELDS = {
  change_id: true,
  status: true,
  resolution: true,
  tenant_id: true,
  kind: true,
  target: true,
  summary: true,
  tier: true,
  risk: true,
  reversible: true,
  affected_users: true,
  unstated: true,
  expected_delta_k: true,
  kpi: true,
  proposer: true,
  proposer_kind: true,
  asked_by: true,
  required_approvers: true,
  created_at: true,
  decided_at: true,
  applied_at: true,
  rolled_back_at: true,
} as const;
const SHOWN_FIELD_NAMES = Object.keys(SHOWN_FIELDS) as (keyof typeof SHOWN_FIELDS)[];

export const findRowSchema = once(() =>
  changeSchema()
    .pick(SHOWN_FIELDS)
    .extend({
      targets: z.number().int().optional().describe("Number of targets of a plan."),
      approvers: z.array(z.string()).meta({ description: "People who consented.", examples: [["ana@acme.example"]] }),
      expires_at: z.string().nullable().describe("Time of expiry or of the due review; null without limit."),
      verdict: z.enum(VERDICTS).nullable().describe("Verdict of its outcome; null if never applied."),
      drift: z.enum(["drifted", "missing"]).nullable().describe("State at the host product if it differs; else null."),
      seconds: z.number().nullable().optional().describe("With `time`: the duration; null if an event did not happen."),
    })
    .describe("A change that a query found."),
);
export type FindRow = z.infer<ReturnType<typeof findRowSchema>>;

export const findSchema = once(() =>
  z.object({
    query: z
      .string()
      .meta({ description: "The query that ran, normalised.", examples: ["is:pending_consent risk:high"] }),
    rows: z.array(findRowSchema()).describe("A page of results."),
    total: z.number().int().describe("Exact number of matches."),
    groups: z
      .array(
        z.object({
          key: z.string().meta({ description: "The common value.", examples: ["t-100"] }),
          count: z.number().int().describe("Number of changes."),
        }),
      )
      .describe("With `group`: number of matches by group; empty without it."),
    next: z.string().nullable().describe("`after` for the next page; null at the end."),
    timed: z.number().int().optional().describe("With `time`: number of matches to which both events happened."),
    median: z.number().nullable().optional().describe("With `time`: the median of the timed, in seconds."),
    max: z.number().nullable().optional().describe("With `time`: the longest of the timed, in seconds."),
  }),
);
export type FindAnswer = z.infer<ReturnType<typeof findSchema>>;

/** Converts a found row to its form in the answer. */
export function toFindRow(
  { row, duration }: FoundRow,
  { policy, isTimed, ...facts }: Pick<FindRow, "verdict" | "drift"> & { policy: Policy; isTimed: boolean },
): FindRow {
  const { change } = row;
  const shownFields = SHOWN_FIELD_NAMES.flatMap((name) => (name in change ? [[name, change[name]]] : []));
  return {
    ...(Object.fromEntries(shownFields) as Omit<FindRow, "approvers" | "expires_at" | "verdict" | "drift">),
    ...(change.sets && { targets: change.sets.length }),
    approvers: listApprovers(row),
    expires_at: findTimeLimit(change, policy),
    ...facts,
    ...(isTimed && { seconds: duration === null ? null : duration / 1000 }),
  };
}
