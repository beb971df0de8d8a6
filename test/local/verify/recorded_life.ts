/** Entries of a change as a verifier reads them, under the intent m. */
import type { RecordedEntry } from "../../../local/verify/entry_detail.ts";

export type Detail = Record<string, unknown>;
export type Step = readonly [event: string, detail?: Detail];
export const recorded = (steps: readonly Step[]): RecordedEntry[] =>
  steps.map(([eventType, detail = {}], at) => ({
    entry: { id: at + 1, eventType } as never,
    detail: { manifest_hash: "m", ...detail },
  }));

export const proposed: Step = ["change_proposed"];
export const consent = (approver: unknown, status = "pending_consent", over: Detail = {}): Step => [
  "consent_decision",
  { decision: "approved", approver, status, ...over },
];
/** A consent that completes the quorum. */
export const approved = consent("ana", "approved");
export const applied: Step = ["change_applied"];
