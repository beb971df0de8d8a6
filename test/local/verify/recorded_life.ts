/** Makes the entries of a change, as a verifier reads them, from short steps. The manifest hash of its intent is `m`. */
import type { RecordedEntry } from "../../../local/verify/entry_detail.ts";

export type Detail = Record<string, unknown>;
export type Step = readonly [event: string, detail?: Detail];
/** Returns the entries of these steps, with ids from 1. */
export const recorded = (steps: readonly Step[]): RecordedEntry[] =>
  steps.map(([eventType, detail = {}], at) => ({
    // Only the members that the rules of a change's life read.
    entry: { id: at + 1, eventType } as never,
    detail: { manifest_hash: "m", ...detail },
  }));

export const proposed: Step = ["change_proposed"];
/** An approval; `status` is the one that the change has after it. */
export const consent = (approver: unknown, status = "pending_consent", overrides: Detail = {}): Step => [
  "consent_decision",
  { decision: "approved", approver, status, ...overrides },
];
/** A consent that completes the quorum. */
export const approved = consent("ana", "approved");
export const applied: Step = ["change_applied"];
