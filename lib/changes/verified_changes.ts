/** Changes as they may be given out: each record held against its entries, for those who decide nothing by it. */
import { entryKey } from "../audit/chain.ts";
import { type AuditEntry, isSound } from "../audit/entry.ts";
import { turn } from "../kit/turn.ts";
import type { RecordOf, Stored } from "../store/store.ts";
import type { ChangesDeps } from "./deps.ts";
import { foldOf } from "./history.ts";
import { type Place, targetKey } from "./records.ts";
import type { Change } from "./rules/change.ts";
import { detailIn } from "./rules/event.ts";
import { type Applied, type ChangeRecord, differences, isWhole } from "./rules/record.ts";
import { asRead } from "./rules/written_record.ts";
import { named, onTarget } from "./subjects.ts";

/** What is told of a change, or why its record is not to be believed. */
export type VerifiedChange = { change: Change; applied: Applied | null } | { problem: string };

/** Changes that are judged between two turns of the event loop. */
const AT_ONCE = 50;

type Reading = Pick<ChangesDeps, "store" | "sha256" | "integrity">;

/**
 * Changes by their ids, each with what the log tells of it. What this process has read of the log it must still be, so that
 * neither an entry that was edited nor one that a record leaves out is passed over; what lies before that is taken at its
 * word. Nothing is believed from where the chain is known not to hold.
 */
export async function readVerifiedChanges(deps: Reading, ids: readonly string[]): Promise<VerifiedChange[]> {
  const { store, integrity } = deps;
  // Before the records: what was appended since, they may tell of or not.
  const seen = integrity.outline?.durable.length ?? 0;
  const records = (await store.getMany("changes", ids)).map(wholeIn);
  const theirs = records.flatMap((record) => record?.audit ?? []);
  const entries = new Map<number, AuditEntry>();
  (await store.getMany("audit", theirs.map(entryKey))).forEach((stored, index) => {
    if (stored) entries.set(theirs[index]!, stored.value);
  });
  const verified: VerifiedChange[] = [];
  for (const [index, id] of ids.entries()) {
    verified.push(await judge(deps, id, records[index], entries, seen));
    // All of a page in one go would hold up everybody else.
    if (index % AT_ONCE === AT_ONCE - 1) await turn();
  }
  return verified;
}

const wholeIn = (stored: Stored<RecordOf<"changes">> | undefined): ChangeRecord | undefined => {
  const record = stored && asRead(stored);
  return record && isWhole(record) ? record : undefined;
};

async function judge(
  deps: Reading,
  changeId: string,
  record: ChangeRecord | undefined,
  entries: ReadonlyMap<number, AuditEntry>,
  seen: number,
): Promise<VerifiedChange> {
  const { sha256, integrity } = deps;
  if (record?.change.change_id !== changeId) return { problem: "there is no whole record of the change" };
  const { audit } = record;
  const own = audit.map((id) => entries.get(id));
  if (!audit.every((id, index) => isOwn(deps, id, own[index], changeId)))
    return { problem: "an entry about the change is not what the log held" };
  if (await leavesOut(deps, changeId, audit, seen)) return { problem: "the record leaves an entry out" };
  const told = foldOf(own);
  const fields = told ? differences(told, record, sha256) : ["log"];
  if (fields.length > 0) return { problem: `the record is not what the log tells (${fields.join(", ")})` };
  const from = integrity.breach?.first_invalid;
  if (from !== undefined && audit.some((id) => id >= from))
    return { problem: `the audit chain does not hold from entry ${from} on` };
  return { change: record.change, applied: told!.applied };
}

function isOwn({ sha256, integrity }: Reading, id: number, entry: AuditEntry | undefined, changeId: string): boolean {
  if (entry?.id !== id || entry.change_id !== changeId || !isSound(entry, sha256)) return false;
  const { outline } = integrity;
  return !outline || id <= outline.after || id > outline.seen.length || outline.isAsRead(entry);
}

/** Whether an entry that this process has read, up to `seen`, is about the change, and not among those that its record names. */
async function leavesOut(
  { store, integrity: { outline } }: Reading,
  changeId: string,
  audit: readonly number[],
  seen: number,
): Promise<boolean> {
  const found = outline ? [...outline.find(named(changeId), seen, 0)] : [];
  const others = found.filter((id) => !audit.includes(id));
  if (others.length === 0) return false;
  // Two changes may have the same place in the outline.
  const stored = await store.getMany("audit", others.map(entryKey));
  return stored.some((entry) => entry === undefined || entry.value.change_id === changeId);
}

/**
 * The changes that were applied to a target after one that it held, and not rolled back since, as far as this process has read
 * the log; undefined where an entry is not what was read.
 */
export async function heldSince(
  deps: Reading,
  place: Place,
  { change_id: held, entry }: { change_id: string; entry: number },
): Promise<string[] | undefined> {
  const { store, integrity } = deps;
  const found = [...(integrity.outline?.find(onTarget("held", place), integrity.outline.durable.length, entry) ?? [])];
  const ended = new Set<string>();
  const since: string[] = [];
  // The newest alone tells whose change the target holds: as a rule no more of them is needed.
  for (let at = 0, count = 1; at < found.length; at += count, count = AT_ONCE) {
    const ids = found.slice(at, at + count);
    const stored = await store.getMany("audit", ids.map(entryKey));
    for (const [index, told] of stored.entries()) {
      const { event_type, change_id, tenant, detail } = told?.value ?? ({} as Partial<AuditEntry>);
      if (!change_id || !isOwn(deps, ids[index]!, told?.value, change_id)) return undefined;
      const { target, target_holds } = detailIn(detail!);
      if (target === undefined || targetKey({ target, tenant_id: tenant! }) !== targetKey(place)) continue;
      if (event_type === "change_rolled_back") ended.add(change_id);
      else if (!ended.has(change_id)) since.push(change_id);
      if (since.length === 0 && (target_holds === held || target_holds === null)) return since;
    }
  }
  return since;
}
