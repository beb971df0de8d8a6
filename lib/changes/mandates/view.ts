/** Mandates as clients see them: bounds, state, signatures, and the used and remaining parts of their limits. */
import { MANDATE_BOUNDS, type MandateBounds, type MandateState } from "../rules/mandate.ts";
import type { MandateRecord, MandateSystem, Suspension } from "../rules/mandate_record.ts";
import { listMissingSignatures } from "../rules/mandate_signers.ts";
import type { MissingConsent } from "../rules/missing_consents.ts";
import { countUsedToday } from "./approve_change.ts";
import { countOpen } from "./count_open.ts";
import { type MandateStatusSources, judgeMandate, listSigners } from "./judge_mandate.ts";
import type { Evidence } from "../evidence.ts";
import type { Reads } from "../../store/store.ts";

/** A mandate as clients see it. */
export interface MandateView extends MandateBounds {
  mandate_id: string;
  revision: number;
  state: MandateState;
  created_at: string;
  signed_at: string | null;
  note: string;
  systems: readonly MandateSystem[];
  signatures: { approver: string; at: string }[];
  /** Signatures that the mandate, or its resumption, lacks. */
  missing: MissingConsent[];
  used: { today: number; open: number };
  left: { today: number; open: number };
  suspension: Suspension | null;
  ended: MandateRecord["ended"];
  /** Why the mandate approves nothing; null if it is active. */
  inactive: string | null;
}

type ViewSources = MandateStatusSources & { tx: Pick<Reads, "get" | "getMany" | "list">; evidence: Evidence };

/** Returns a mandate with its status of now. */
export async function viewMandate(sources: ViewSources, mandate: MandateRecord): Promise<MandateView> {
  const { evidence, at, product } = sources;
  const { mandate_id, revision, created_at, signed_at, note, systems, signatures, bounds, suspension } = mandate;
  const status = await judgeMandate(sources, mandate);
  // Without `policy.mandates` there are no effective bounds, and the mandate's own are shown.
  const effective = status.bounds ?? bounds;
  // An accepted loss of the log's end after a mandate became active suspends it, without an entry of its own.
  const isSuspendedByLoss = mandate.state === "active" && (await sources.findLastLossId()) > mandate.counts_from;
  const isExpired = mandate.state !== "draft" && effective.until <= at;
  const isSuspended = suspension !== null || isSuspendedByLoss;
  const stateBeforeEnd = isSuspended ? "suspended" : mandate.state;
  const state = mandate.ended || isExpired ? "ended" : stateBeforeEnd;
  // Signatures of a resumption that came before the loss do not count after it.
  const resumeSigners = isSuspendedByLoss ? [] : await listSigners(sources, mandate, "mandate_resume");
  const missing =
    isSuspended && !isExpired ? listMissingSignatures(resumeSigners, bounds, product.intent) : status.missing;
  const used = {
    today: await countUsedToday(evidence, mandate_id, at),
    open: await countOpen(evidence, mandate),
  };
  const left = {
    today: Math.max(0, effective.max_per_day - used.today),
    open: Math.max(0, effective.max_open - used.open),
  };
  const effectiveValues = Object.fromEntries(
    MANDATE_BOUNDS.flatMap((bound) => (bounds[bound] === undefined ? [] : [[bound, effective[bound]]])),
  );
  const suspensionByLoss = isSuspendedByLoss ? ({ reason: "loss_accepted", at } as const) : null;
  return {
    mandate_id,
    revision,
    state,
    ...(effectiveValues as unknown as MandateBounds),
    created_at,
    signed_at,
    note,
    systems,
    signatures: signatures.map(({ approver, at: signedAt }) => ({ approver, at: signedAt })),
    missing,
    used,
    left,
    suspension: suspension ?? suspensionByLoss,
    ended: mandate.ended ?? (isExpired ? { reason: "expired", at: effective.until } : null),
    inactive: status.inactive ?? null,
  };
}
