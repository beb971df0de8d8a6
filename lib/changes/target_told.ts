/** What a target holds, and what waits for it, as the log tells it: no view of it that is kept beside can hide or make up a change. */
import type { AuditEntry } from "../audit/entry.ts";
import { foldOf } from "./history.ts";
import { LISTED, liveOn, type Place, readRecord, targetKey } from "./records.ts";
import type { Status } from "./rules/change.ts";
import { detailIn } from "./rules/event.ts";
import { isLive } from "./rules/in_force.ts";
import { sameTarget } from "./rules/names.ts";
import type { ChangeRecord } from "./rules/record.ts";
import type { Reads } from "../store/store.ts";
import type { Transaction } from "./transaction.ts";

type Telling = Pick<Transaction, "evidence" | "outlined"> & { tx: Pick<Reads, "get" | "getMany" | "list"> };

/**
 * Finds the newest applied change of a target by its last apply or rollback. Where that is older than all that was read, the
 * view says which.
 */
export async function ownerTold(telling: Telling, place: Place): Promise<string | null> {
  const newest = await telling.evidence.onTarget("held", place)();
  if (!newest) return ownerShown(telling, place, new Set());
  return newest.event_type === "change_applied" ? newest.change_id : detailIn(newest.detail).target_holds!;
}

/** Returns the spelling with which a tenant's target was first applied; the requested one where it never was. */
export async function targetSpelling(
  { tx, evidence }: { tx: Pick<Reads, "list">; evidence: Telling["evidence"] },
  place: Place,
): Promise<string> {
  // Each apply and rollback repeats the spelling of the one before it, so the newest tells the first.
  const newest = (await evidence.onTarget("held", place)()) ?? (await newestOwnerEntry({ tx, evidence }, place));
  const { target, target_spelling = target } = detailIn(newest?.detail ?? "");
  return target_spelling !== undefined && sameTarget(target_spelling) === sameTarget(place.target)
    ? target_spelling
    : place.target;
}

/** The apply of the newest applied change of a target, for one that is older than all that was read. */
async function newestOwnerEntry(
  { tx, evidence }: { tx: Pick<Reads, "list">; evidence: Telling["evidence"] },
  place: Place,
): Promise<AuditEntry | undefined> {
  const prefix = targetKey(place);
  const [newest] = await tx.list("owners", { prefix, limit: 1, reverse: true });
  return newest && evidence.kept(Number(newest.id.slice(prefix.length)));
}

/** What the log tells of a target at a rollback: whose change it holds then, and whose was under the one that is taken back. */
export async function targetWithout(
  telling: Telling,
  record: ChangeRecord,
): Promise<{ target_holds: string | null; target_held?: string | null }> {
  const { change, applied } = record;
  const owner = await ownerTold(telling, change);
  const { under, passed } = await underneath(telling, change.change_id, await telling.evidence.kept(applied?.entry));
  const target_holds =
    owner !== change.change_id ? owner : under === undefined ? await ownerShown(telling, change, passed) : under;
  return { target_holds, ...(under === undefined ? {} : { target_held: under }) };
}

/**
 * The newest change under one that is still applied, and those that were passed on the way; undefined where the log does not
 * say. Each apply tells what it was over, and each rollback what is left of that, so that nothing is passed twice.
 */
async function underneath(telling: Telling, changeId: string, from: AuditEntry | undefined) {
  const passed = new Set([changeId]);
  for (let entry = from; ;) {
    const { target_held: under } = detailIn(entry?.detail ?? "");
    if (typeof under !== "string") return { under, passed };
    const { status, entries } = await standing(telling, under);
    if (status === "applied") return { under, passed };
    if (passed.has(under)) return { under: undefined, passed };
    passed.add(under);
    entry = entries.findLast(({ detail }) => detailIn(detail).target_held !== undefined);
  }
}

/** The newest of a target's applied changes in the view that is none of these, and that the log may have. */
async function ownerShown(telling: Telling, place: Place, passed: ReadonlySet<string>): Promise<string | null> {
  const { tx, evidence, outlined } = telling;
  const prefix = targetKey(place);
  for (const { id, value } of await tx.list("owners", { prefix, limit: LISTED, reverse: true })) {
    const entry = await evidence.kept(Number(id.slice(prefix.length)));
    if (entry?.event_type !== "change_applied" || entry.change_id !== value || passed.has(value)) continue;
    if (entry.id > outlined()) continue;
    const { status, entries } = await standing(telling, value);
    if (status === "applied" && isProposedOn(place, entries[0])) return value;
  }
  return null;
}

/** The live changes of a target, ten at most: those of the view that the log has; where it has none of them, those that the log has. */
export async function liveTold(telling: Telling, place: Place): Promise<string[]> {
  const { tx, evidence } = telling;
  const live: string[] = [];
  for (const id of await liveOn(tx, place)) {
    const { status, entries } = await standing(telling, id);
    if (isLive(status) && isProposedOn(place, entries[0])) live.push(id);
  }
  // One is enough to decide by: what else the view may hide need not be looked for each time that a proposal is refused.
  if (live.length > 0) return live;
  const next = evidence.onTarget("proposed", place);
  for (let entry; (entry = await next());) {
    const { id, change_id, detail } = entry;
    if (isLive(foldOf(await evidence.about(change_id, id))?.change.status)) live.push(change_id);
    if (live.length === LISTED || detailIn(detail).alone) break;
  }
  return live;
}

/** Where a change stands by its entries, which follow; of what is older than all that was read, its record names them. */
async function standing(
  { tx, evidence, outlined }: Telling,
  changeId: string,
): Promise<{ status: Status | undefined; entries: AuditEntry[] }> {
  const read = await evidence.about(changeId, outlined() + 1);
  if (read[0]?.event_type === "change_proposed") return { status: foldOf(read)?.change.status, entries: read };
  const kept = await readRecord(tx, changeId);
  const older = await Promise.all((kept?.audit ?? []).filter((id) => id <= outlined()).map(evidence.kept));
  const told = read.map(({ detail }) => detailIn(detail).status).findLast((status) => status !== undefined);
  return {
    status: told ?? kept?.change.status,
    entries: [...older.filter((entry) => entry?.change_id === changeId), ...read] as AuditEntry[],
  };
}

function isProposedOn(place: Place, entry: AuditEntry | undefined): boolean {
  if (entry?.event_type !== "change_proposed") return false;
  const { target } = detailIn(entry.detail);
  return target !== undefined && targetKey({ target, tenant_id: entry.tenant }) === targetKey(place);
}
