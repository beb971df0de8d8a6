/** Judges a release that another tool asks for, by the changes of its target as the log shows them. Writes nothing. */
import type { AuditEntry } from "../../audit/entry.ts";
import { AppError } from "../../kit/errors.ts";
import { lastFreeze } from "../freeze.ts";
import { requireApplicable, requireNoOperation } from "../operations/start.ts";
import { asProven } from "../proven_consents.ts";
import { type Place, targetKey } from "../records.ts";
import { isEmergency } from "../rules/break_glass.ts";
import { decideGate, type GateDecision, type GateFacts, type Release } from "../rules/decide_gate.ts";
import { detailIn } from "../rules/event.ts";
import { holdsAt, refuseHeld } from "../rules/hold.ts";
import { isLive } from "../rules/in_force.ts";
import { listEntries } from "../rules/list_entries.ts";
import { missingConsents } from "../rules/missing.ts";
import { whyOverdue } from "../rules/overdue.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { releaseHead } from "../rules/release.ts";
import { samePlace } from "../rules/same_target.ts";
import { requireConsented } from "../rules/state_machine.ts";
import type { Transaction } from "../transaction.ts";

/** A question for a release. */
export interface GateQuestion extends Place {
  /** The commit that is to be deployed. */
  head: string;
}

/** A release with its record. */
interface Read extends Release {
  record: ChangeRecord;
}

const PAGE_SIZE = 100;
/** Proposals that are looked through for a head that no live or applied change has. */
const MAX_SEARCHED = 100;

/** Returns the answer, and the record of the change that it names where that matches the log. */
export async function judgeRelease(
  transaction: Transaction,
  question: GateQuestion,
): Promise<GateDecision & { record: ChangeRecord | undefined }> {
  const { head } = question;
  const live = await readLive(transaction, question);
  const owner = await transaction.ledger.owner(question);
  const newest = await findNewest(transaction, question, { live, owner });
  const isNewest = newest?.head === head && newest.mismatch === undefined;
  const obstacle = isNewest ? await findObstacle(transaction, newest.record) : undefined;
  const pending = newestOf(live.filter((one) => one.change.status === "pending_consent" && one.head === head));
  const other = isNewest || pending ? undefined : await findOther(transaction, question);
  const decision = decideGate({
    head,
    newest,
    owner,
    obstacle,
    pending: pending && (await describePending(transaction, pending)),
    other,
  });
  const named = [newest, pending, other].find((one) => one?.change.change_id === decision.change_id);
  return { ...decision, record: named?.mismatch === undefined ? named?.record : undefined };
}

async function readLive(transaction: Transaction, place: Place): Promise<Read[]> {
  const prefix = targetKey(place);
  const found: Read[] = [];
  for (let after = "", more = true; more;) {
    const page = await transaction.tx.list("live_by_target", { prefix, after, limit: PAGE_SIZE, keysOnly: true });
    for (const { id } of page) found.push(...(await readRelease(transaction, place, id.slice(prefix.length))));
    after = page.at(-1)?.id ?? after;
    more = page.length === PAGE_SIZE;
  }
  return found.filter(({ change }) => isLive(change.status));
}

/**
 * Finds the approved or applied change whose last consent is newest. An apply follows its consents, so only changes that were
 * applied after the newest consent found so far can have a newer one.
 */
async function findNewest(
  transaction: Transaction,
  place: Place,
  { live, owner }: { live: readonly Read[]; owner: string | null },
): Promise<Read | undefined> {
  const consented = live.filter(({ change }) => change.status === "approved");
  if (owner !== null) consented.push(...(await readRelease(transaction, place, owner)));
  let newest = newestOf(consented);
  const prefix = targetKey(place);
  const seen = new Set(consented.map(({ change }) => change.change_id));
  for (let limit = PAGE_SIZE, read = 0; ; limit *= 2) {
    const rows = await transaction.tx.list("owners", { prefix, limit, reverse: true });
    for (const { id, value } of rows.slice(read)) {
      if (newest && Number(id.slice(prefix.length)) < newest.consented) return newest;
      if (seen.has(value)) continue;
      const applied = await readRelease(transaction, place, value);
      newest = newestOf([newest, ...applied.filter(({ change }) => change.status === "applied")]);
    }
    if (rows.length < limit) return newest;
    read = rows.length;
  }
}

/** Finds the newest change with a head, whatever became of it. */
async function findOther(transaction: Transaction, question: GateQuestion): Promise<Read | undefined> {
  const next = transaction.evidence.onTarget("proposed", question);
  for (let searched = 0, entry; searched < MAX_SEARCHED && (entry = await next()); searched++) {
    const [release] = await readRelease(transaction, question, entry.change_id);
    if (release?.head === question.head) return release;
  }
  return undefined;
}

/** Reads a change of a target by the log; empty where it is of another target or kind, or the log does not have it. */
async function readRelease({ ledger }: Transaction, place: Place, changeId: string): Promise<Read[]> {
  const { record, fields } = await ledger.change(changeId).catch((error: unknown) => {
    if (error instanceof AppError && error.code === "change_not_found") return { record: undefined, fields: [] };
    throw error;
  });
  if (!record) return [];
  const entries = await ledger.entries(changeId, record);
  if (fields.length > 0) {
    const state = await ledger.state(changeId, record);
    const mismatch = `its record does not match the log (${fields.join(", ")})`;
    return state ? [{ record, change: state.change, consented: lastConsent(entries), mismatch }] : [];
  }
  const { change } = record;
  const set = listEntries(change).find((entry) => samePlace(entry, place));
  if (!set || change.kind !== "config") return [];
  return [{ record, change, head: releaseHead(set.target, set.value), consented: lastConsent(entries) }];
}

/** Returns the entry of the last approval; of a change that the intent approved, its proposal. */
function lastConsent(entries: readonly AuditEntry[]): number {
  const approval = entries.findLast(
    ({ event_type, detail }) => event_type === "consent_decision" && detailIn(detail).decision === "approved",
  );
  return (approval ?? entries[0])?.id ?? 0;
}

const newestOf = (releases: readonly (Read | undefined)[]): Read | undefined =>
  releases.reduce((newest, one) => (one && one.consented > (newest?.consented ?? 0) ? one : newest), undefined);

/** Finds what would reject the apply of an approved change, or the consents of an applied one. */
async function findObstacle(transaction: Transaction, record: ChangeRecord): Promise<AppError | undefined> {
  try {
    if (record.change.status === "applied") await requireInForce(transaction, record);
    else await requireApplicable(transaction, record);
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** Requires that the consents of an applied change count today, and that nothing holds releases back. */
async function requireInForce(transaction: Transaction, record: ChangeRecord): Promise<void> {
  const { tx, product, now } = transaction;
  const { intent } = product;
  const proven = await asProven(transaction, record);
  requireConsented(proven, intent);
  await requireNoOperation(tx, record.change);
  if (isEmergency(proven, intent)) return;
  refuseHeld(holdsAt(intent.policy, await lastFreeze(transaction), now, record.change));
}

async function describePending(transaction: Transaction, { record }: Read): Promise<NonNullable<GateFacts["pending"]>> {
  const { product, now } = transaction;
  const { intent } = product;
  const proven = await asProven(transaction, record);
  return {
    release: { change: record.change, consented: 0 },
    overdue: whyOverdue(record.change, { intent, now }),
    missing: missingConsents(proven, intent),
  };
}
