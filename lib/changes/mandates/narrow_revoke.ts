/** Narrows and revokes mandates: any person who may sign a mandate may also narrow or revoke it, with any valid key. */
import { listRecords } from "../../store/pages.ts";
import type { Caller } from "../caller.ts";
import { readConfirmedTime } from "../confirmed_time.ts";
import type { ChangesDeps } from "../deps.ts";
import type { ReplayedReply } from "../replies.ts";
import { serviceActor } from "../rules/actor.ts";
import { kpiDirection } from "../rules/kpi.ts";
import { narrowBounds, type Narrowing } from "../rules/mandate_narrow.ts";
import { runTransaction } from "../transaction.ts";
import { type DraftResult, sweepDrafts } from "./draft.ts";
import { requireKnownKpis } from "./kpi_floor.ts";
import { findMandate, readMandate } from "./read_mandate.ts";
import { recordEvent } from "./record_event.ts";
import { type MandateInput, type MandateResult, createDecisionRejection, requireSigner, signDecision } from "./sign.ts";
import { suspendIfBelowFloor, suspendContested } from "./suspend.ts";
import { viewMandate } from "./view.ts";

/** Makes bounds of a mandate smaller. */
export const narrowMandate = (
  caller: Caller,
  { narrow, ...input }: MandateInput & { narrow: Narrowing },
): Promise<MandateResult | ReplayedReply> =>
  runTransaction(caller, async (transaction): Promise<MandateResult> => {
    const mandate = await findMandate(transaction, input.mandate_id);
    const { bounds, state, revision } = mandate;
    const stated = Object.fromEntries(Object.entries(narrow).filter(([, value]) => value !== undefined)) as Narrowing;
    requireKnownKpis(stated.kpi_floor, transaction.product.intent);
    // Rejects a bound that is wider; the recorded event makes the new bounds.
    narrowBounds(bounds, stated, (kpi) => kpiDirection(kpi, transaction.product.intent));
    if (state === "draft" || state === "ended")
      throw createDecisionRejection(mandate, `it is ${state}, and cannot be narrowed`);
    requireSigner(transaction, mandate, input.approver);
    const { facts } = await signDecision(transaction, caller, mandate, "mandate_narrow", input, stated);
    const { approver, note = "" } = input;
    const detail = { revision: revision + 1, approver, note, narrow: stated, ...facts };
    const { mandate: narrowed, entry } = recordEvent(transaction, mandate, "mandate_narrowed", detail);
    return { entry, mandate: await viewMandate(transaction, await suspendIfBelowFloor(transaction, narrowed)) };
  });

/**
 * Ends a mandate, also if it lacks signatures. People must then approve changes that it approved and that are not applied yet. A
 * draft without signatures is removed without an entry.
 */
export const revokeMandate = (
  caller: Caller,
  input: MandateInput,
): Promise<MandateResult | DraftResult | ReplayedReply> =>
  runTransaction(
    caller,
    async (transaction): Promise<MandateResult | DraftResult> => {
      const mandate = await findMandate(transaction, input.mandate_id);
      const { state, revision, mandate_id, audit } = mandate;
      if (state === "ended") throw createDecisionRejection(mandate, "it has ended, and cannot be revoked");
      requireSigner(transaction, mandate, input.approver);
      const { facts } = await signDecision(transaction, caller, mandate, "mandate_revoke", input);
      const { approver, note = "" } = input;
      if (audit.length === 0) {
        const { tx, at } = transaction;
        tx.delete("mandates", mandate_id);
        const ended = { reason: "revoked", at, approver } as const;
        return { entry: null, mandate: await viewMandate(transaction, { ...mandate, state: "ended", ended }) };
      }
      const detail = { revision: revision + 1, reason: "revoked", approver, note, ...facts };
      const { mandate: ended, entry } = recordEvent(transaction, mandate, "mandate_ended", detail);
      return { entry, mandate: await viewMandate(transaction, ended) };
    },
    { ignoresClockLag: true },
  );

/** Runs in each cycle: suspends mandates whose changes are contested, and ends expired ones. */
export async function maintainMandates(deps: ChangesDeps): Promise<void> {
  await suspendContested(deps);
  await endOverdue(deps);
}

/** Records the end of mandates that have expired by the confirmed time, and removes old drafts. */
async function endOverdue(deps: ChangesDeps): Promise<void> {
  const { store, clock } = deps;
  for await (const { id } of listRecords(store, "mandates_by_agent", { keysOnly: true })) {
    // The key is the agent and the mandate, with a line break between them.
    const mandateId = id.slice(id.lastIndexOf("\n") + 1);
    const until = Date.parse((await store.get("mandates", mandateId))?.value.bounds.until ?? "");
    // `until` is not a number if the record is missing.
    if (!(until <= clock.now()) || (await readConfirmedTime(deps, store, until)) < until) continue;
    await runTransaction<void>({ deps }, async (transaction) => {
      const mandate = await readMandate(transaction, mandateId);
      if (!mandate || mandate.state === "ended" || Date.parse(mandate.bounds.until) > transaction.now) return;
      const detail = { revision: mandate.revision + 1, reason: "expired", ...serviceActor() };
      recordEvent(transaction, mandate, "mandate_ended", detail);
    });
  }
  await store.transact(async (tx) => void (await sweepDrafts(tx, clock.now())));
}
