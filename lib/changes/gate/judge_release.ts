/** Judges a release for another tool, by the changes of its target according to the log. Writes nothing. */
import type { AuditEntry } from "../../audit/entry.ts";
import { AppError } from "../../kit/errors.ts";
import { findLastFreeze } from "../freeze.ts";
import { isTargetProposal } from "../ledger/targets.ts";
import { requireInsideMandate } from "../mandates/check_apply.ts";
import { requireApplicable } from "../operations/judge_apply.ts";
import { requireNoOperation } from "../operations/lease.ts";
import { filterProvenConsents } from "../proven_consents.ts";
import { foldEntries } from "../ledger/verify_record.ts";
import { ignoreMissing } from "../mismatch.ts";
import { readRecord, readRecords, formatTargetKey } from "../records.ts";
import { isEmergencyApproved } from "../rules/break_glass.ts";
import type { Change } from "../rules/change.ts";
import { decideGate, type GateDecision, type GateFacts, type Release } from "../rules/decide_gate.ts";
import { parseDetail } from "../rules/event.ts";
import { listHolds, requireNoHold } from "../rules/hold.ts";
import { listEntries } from "../rules/list_entries.ts";
import { listMissingConsents } from "../rules/missing_consents.ts";
import { explainOverdue } from "../rules/overdue.ts";
import type { ChangeRecord, ChangeState } from "../rules/record.ts";
import { findReleaseHead } from "../rules/release.ts";
import { type TargetKey, isSameTarget } from "../rules/target_key.ts";
import { requireConsented } from "../rules/state_machine.ts";
import type { Transaction } from "../transaction.ts";
import { listRecords } from "../../store/pages.ts";

export interface GateQuestion extends TargetKey {
  /** The commit that is to be deployed. */
  head: string;
}

/** A release, with its record if that matches the log. */
interface VerifiedRelease extends Release {
  record?: ChangeRecord;
}

interface TracedChange {
  state: ChangeState;
  /** Id of the entry of its last consent. */
  lastConsentEntry: number;
}

/** Maximum number of entries of a target, and of rows in the index of owners, that are searched. */
const MAX_LISTED = 500;
/** Changes whose entries are read in one request. */
const BATCH_SIZE = 50;
/** Maximum number of proposals, and of open changes, that are searched for a head, newest first. */
const MAX_SEARCHED = 100;
/** Number of changes with the head after which the search ends. */
const MAX_MATCHES = 10;

/** Returns the answer, and the record of the change in it if that record matches the log. */
export async function judgeRelease(
  transaction: Transaction,
  question: GateQuestion,
): Promise<GateDecision & { record: ChangeRecord | undefined }> {
  const { head } = question;
  const changeInForce = await transaction.ledger.owner(question);
  const { candidates, recent } = await listCandidates(transaction, question);
  const lastConsented = await findLastConsented(transaction, question, candidates);
  const releasesHead = lastConsented?.head === head && lastConsented.record !== undefined;
  const obstacle = releasesHead ? await findObstacle(transaction, lastConsented.record!) : undefined;
  const isUsable = lastConsented?.change.status === "approved" || changeInForce === lastConsented?.change.change_id;
  // Other changes matter only if the last consented one does not allow the release.
  const matches = releasesHead && !obstacle && isUsable ? [] : await findMatches(transaction, question, recent);
  const pending = findNewestRelease(matches.filter(({ change }) => change.status === "pending_consent"));
  const otherRelease = releasesHead || pending ? undefined : matches[0];
  const decision = decideGate({
    head,
    lastConsented,
    changeInForce,
    obstacle,
    pending: pending && (await describePending(transaction, pending)),
    otherRelease,
  });
  const named = [lastConsented, pending, otherRelease].find(
    (release) => release?.change.change_id === decision.change_id,
  );
  return { ...decision, record: named?.record };
}

/**
 * Lists the changes that may release a target, from the log, so that no index can hide a change, and from the indexes, which reach
 * further back. `recent`: changes of the newest proposals, then open changes, each newest first.
 */
async function listCandidates(
  { tx, evidence }: Transaction,
  key: TargetKey,
): Promise<{ candidates: string[]; recent: string[] }> {
  const prefix = formatTargetKey(key);
  const proposed = await evidence.newestAboutTarget("proposed", key, MAX_LISTED);
  const targetEntries = await evidence.newestAboutTarget("held", key, MAX_LISTED);
  const owners = await tx.list("owners", { prefix, limit: MAX_LISTED, reverse: true });
  const openChanges: string[] = [];
  for await (const { id } of listRecords(tx, "live_by_target", { prefix, keysOnly: true }))
    openChanges.push(id.slice(prefix.length));
  const logged = [...proposed, ...targetEntries].map(({ change_id }) => change_id);
  const recent = [
    ...proposed.slice(0, MAX_SEARCHED).map(({ change_id }) => change_id),
    ...openChanges.slice(-MAX_SEARCHED).reverse(),
  ];
  return {
    candidates: [...new Set([...logged, ...owners.map(({ value }) => value), ...openChanges])],
    recent: [...new Set(recent)],
  };
}

/**
 * Finds the approved or applied change with the newest last consent. The index has the id of the last entry about each change, and
 * no consent is newer than that entry: changes with the newest last entries are read first, until no other change can have a newer
 * consent.
 */
async function findLastConsented(
  transaction: Transaction,
  key: TargetKey,
  candidates: readonly string[],
): Promise<VerifiedRelease | undefined> {
  const { evidence, indexedAfter } = transaction;
  const lastEntryIds = await evidence.lastEntryIds(candidates);
  // An entry before the indexed part may be about any change, so each bound is at least the last of these entries.
  const ordered = candidates
    .map((changeId, index) => ({ changeId, lastEntryId: Math.max(lastEntryIds[index]!, indexedAfter()) }))
    .sort((a, b) => b.lastEntryId - a.lastEntryId);
  let traced: TracedChange[] = [];
  for (let next = 0; next < ordered.length || traced.length > 0;) {
    const batch = ordered.slice(next, next + BATCH_SIZE).map(({ changeId }) => changeId);
    next += BATCH_SIZE;
    await evidence.prefetchAbout(batch);
    for (const changeId of batch) traced.push(...(await traceChange(transaction, key, changeId)));
    traced = traced
      .filter(({ state: { change } }) => change.status === "approved" || change.status === "applied")
      .sort((a, b) => b.lastConsentEntry - a.lastConsentEntry);
    const newestUnread = ordered[next]?.lastEntryId ?? 0;
    for (; traced[0] && traced[0].lastConsentEntry >= newestUnread; traced.shift()) {
      const release = await readRelease(transaction, key, traced[0]);
      if (release) return release;
    }
  }
  return undefined;
}

/** Lists the newest changes with the requested head, in any status, newest first. */
async function findMatches(
  transaction: Transaction,
  question: GateQuestion,
  recent: readonly string[],
): Promise<VerifiedRelease[]> {
  const matches: VerifiedRelease[] = [];
  const records = await readRecords(transaction.tx, recent);
  // Only records with this head are verified; a verified record may have another one.
  for (const record of records) {
    if (!record || findReleaseHead(question.target, findEntry(record.change, question)?.value) !== question.head)
      continue;
    for (const traced of await traceChange(transaction, question, record.change.change_id)) {
      const release = await readRelease(transaction, question, traced);
      if (release?.head === question.head) matches.push(release);
    }
    if (matches.length === MAX_MATCHES) break;
  }
  return matches;
}

/** Folds the entries of a change; empty if the log has none, or if they are about another target. */
async function traceChange(
  { tx, ledger, evidence, indexedAfter }: Transaction,
  key: TargetKey,
  changeId: string,
): Promise<TracedChange[]> {
  let entries = await evidence.entriesAbout(changeId, indexedAfter() + 1);
  if (entries[0]?.event_type !== "change_proposed")
    entries = await ledger.entries(changeId, await readRecord(tx, changeId));
  // The record may name wrong entries.
  if (!foldEntries(entries)) entries = await evidence.entriesAbout(changeId, 1);
  const state = foldEntries(entries);
  return state && isTargetProposal(key, entries[0]) ? [{ state, lastConsentEntry: findLastConsent(entries) }] : [];
}

/** Reads the release of a change; `mismatch` if its record is not verified, undefined if the change sets no such target. */
async function readRelease(
  { ledger }: Transaction,
  key: TargetKey,
  { state, lastConsentEntry }: TracedChange,
): Promise<VerifiedRelease | undefined> {
  const verified = await ignoreMissing(ledger.change(state.change.change_id));
  const createMismatch = (mismatch: string) => ({ change: state.change, lastConsentEntry, mismatch });
  if (!verified) return createMismatch("its record is missing in the store");
  const { record, fields } = verified;
  if (fields.length > 0) return createMismatch(`its record does not match the log (${fields.join(", ")})`);
  const { change } = record;
  const entry = findEntry(change, key);
  return entry && { record, change, head: findReleaseHead(entry.target, entry.value), lastConsentEntry };
}

/** Returns the entry of a `config` change for a target. */
const findEntry = (change: Change, key: TargetKey) =>
  change.kind === "config" ? listEntries(change).find((entry) => isSameTarget(entry, key)) : undefined;

/** Returns the id of the entry of the last approval; for a minor change, of its proposal. */
function findLastConsent(entries: readonly AuditEntry[]): number {
  const approval = entries.findLast(
    ({ event_type, detail }) => event_type === "consent_decision" && parseDetail(detail).decision === "approved",
  );
  return (approval ?? entries[0])?.id ?? 0;
}

const findNewestRelease = (releases: readonly (VerifiedRelease | undefined)[]): VerifiedRelease | undefined =>
  releases.reduce(
    (newest, release) => (release && release.lastConsentEntry > (newest?.lastConsentEntry ?? 0) ? release : newest),
    undefined,
  );

/** Returns the error that an apply of an approved change, or the use of an applied change's consents, would cause, if any. */
async function findObstacle(transaction: Transaction, record: ChangeRecord): Promise<AppError | undefined> {
  try {
    if (record.change.status === "applied") await requireValidConsents(transaction, record);
    else await requireApplicable(transaction, record);
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/**
 * Requires that the consents of an applied change count today, and that nothing blocks releases. A mandate that ended or was
 * suspended after the apply still counts: its state at the apply is checked, with its bounds of today.
 */
async function requireValidConsents(transaction: Transaction, record: ChangeRecord): Promise<void> {
  const { tx, product, now } = transaction;
  const { intent } = product;
  const { applied } = record;
  const contextAtApply = { ...transaction, ...(applied && { at: applied.at, until: applied.entry }) };
  const proven = await filterProvenConsents(contextAtApply, record);
  requireConsented(proven, intent);
  await requireInsideMandate(contextAtApply, proven);
  await requireNoOperation(tx, record.change);
  if (isEmergencyApproved(proven, intent)) return;
  requireNoHold(listHolds(intent.policy, await findLastFreeze(transaction), now, record.change));
}

async function describePending(
  transaction: Transaction,
  release: VerifiedRelease,
): Promise<NonNullable<GateFacts["pending"]>> {
  const { product, now } = transaction;
  const { intent } = product;
  // A match has a head, which only a verified record has.
  const record = release.record!;
  const proven = await filterProvenConsents(transaction, record);
  return {
    // The entry of the last consent matters only for an approved or applied release.
    release: { change: record.change, lastConsentEntry: 0 },
    overdue: explainOverdue(record.change, { intent, now }),
    missing: listMissingConsents(proven, intent),
  };
}
