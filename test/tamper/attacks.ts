/** Attacks on a log by an attacker who can write its store. */
import { entryKey } from "../../lib/audit/chain.ts";
import type { AuditEntry } from "../../lib/audit/entry.ts";
import type { Store } from "../../lib/store/store.ts";
import { writeRecords } from "../support/write_records.ts";
import { makeCheckpoint, copyStore, rehashed, type World } from "./world.ts";

/** A way to tamper with the log or the store; absent fields leave their part unchanged. */
export interface Attack {
  title: string;
  /** Returns the log after the attack. */
  entries?: (world: World) => AuditEntry[];
  /** Edits of the store other than those of log entries. */
  store?: (store: Store) => Promise<void>;
  /** The store is replaced by the copy made some 20 entries ago. */
  setBack?: true;
  /** The attacker holds the service's signing key. */
  hasKey?: true;
}

/** The entry that is tampered with: after the older receipt and checkpoint, before the newer ones. */
const TAMPERED_ID = 150;

const entryAt = (entries: readonly AuditEntry[], id: number): AuditEntry => entries[id - 1]!;
const editEntry = (entry: AuditEntry): AuditEntry => ({ ...entry, tenant: "somebody else" });
const replaceEntry = (entries: AuditEntry[], id: number, ...replacements: AuditEntry[]): AuditEntry[] =>
  entries.toSpliced(id - 1, 1, ...replacements);
/** Edits an entry that no change record depends on, and recomputes all hashes after it. */
const rewriteFromEntry = ({ entries }: World): AuditEntry[] => {
  const index = entries.findIndex(({ id, event_type }) => id >= TAMPERED_ID && event_type === "kpi_refreshed");
  return rehashed(replaceEntry([...entries], index + 1, editEntry(entries[index]!)), index);
};

/** Deletes the stored data by which the service itself would detect the attack. */
async function coverUp(store: Store): Promise<void> {
  await store.transact((tx) => {
    tx.delete("meta", "merkle");
    tx.delete("meta", "checkpoint");
  });
}

export const ATTACKS: Attack[] = [
  { title: "nothing" },
  {
    title: "a field of an entry edited",
    entries: ({ entries }) => replaceEntry(entries, TAMPERED_ID, editEntry(entryAt(entries, TAMPERED_ID))),
  },
  {
    title: "an entry edited, its own hash made right",
    entries: ({ entries }) => {
      const edited = replaceEntry(entries, TAMPERED_ID, editEntry(entryAt(entries, TAMPERED_ID)));
      const withNewHashes = rehashed(edited, TAMPERED_ID - 1);
      return replaceEntry(entries, TAMPERED_ID, entryAt(withNewHashes, TAMPERED_ID));
    },
  },
  { title: "an entry removed from the middle", entries: ({ entries }) => replaceEntry(entries, TAMPERED_ID) },
  {
    title: "an entry put in between",
    entries: ({ entries }) =>
      replaceEntry(entries, TAMPERED_ID, editEntry(entryAt(entries, TAMPERED_ID)), entryAt(entries, TAMPERED_ID)),
  },
  {
    title: "two entries swapped",
    entries: ({ entries }) =>
      entries.with(TAMPERED_ID - 1, entryAt(entries, TAMPERED_ID + 1)).with(TAMPERED_ID, entryAt(entries, TAMPERED_ID)),
  },
  {
    title: "an entry repeated",
    entries: ({ entries }) =>
      replaceEntry(entries, TAMPERED_ID, entryAt(entries, TAMPERED_ID), entryAt(entries, TAMPERED_ID)),
  },
  {
    title: "an entry of another log in its place",
    entries: ({ entries, other }) => replaceEntry(entries, TAMPERED_ID, entryAt(other, TAMPERED_ID)),
  },
  { title: "the whole log replaced by another", entries: ({ other }) => other, store: coverUp },
  { title: "the last 20 entries cut off", entries: ({ entries }) => entries.slice(0, -20) },
  { title: "the store set back to an older copy", setBack: true },
  {
    title: "the last entry edited, its hash made right",
    entries: ({ entries }) =>
      rehashed(replaceEntry(entries, entries.length, editEntry(entries.at(-1)!)), entries.length - 1),
  },
  { title: "rewritten from one entry on, all hashes made right", entries: rewriteFromEntry },
  { title: "rewritten, its traces in the store deleted", entries: rewriteFromEntry, store: coverUp },
  { title: "rewritten by somebody who holds the signing key", entries: rewriteFromEntry, store: coverUp, hasKey: true },
  { title: "a change's stored record edited, the log untouched", store: forgeRecord },
  { title: "nothing edited: somebody lied, and it is recorded" },
];

async function forgeRecord(store: Store): Promise<void> {
  const records = await store.list("changes", { limit: 1000 });
  const { id, value } = records.find(({ value }) => value.change.status === "denied")!;
  await store.transact((tx) =>
    tx.put("changes", id, { ...value, change: { ...value.change, status: "approved", resolution: null } }),
  );
}

/** Returns the store after the attack. */
export async function attackStore(attack: Attack, world: World): Promise<Store> {
  if (attack.setBack) return copyStore(world.older);
  const store = await copyStore(world.deps.store);
  if (attack.entries) await replaceLog(store, attack.entries(world));
  await attack.store?.(store);
  return store;
}

/** Replaces the log with other entries and their head. */
async function replaceLog(store: Store, entries: readonly AuditEntry[]): Promise<void> {
  const before = await store.list("audit", { limit: 10_000 });
  const { origin, current_hash: head, timestamp } = entries.at(-1)!;
  await writeRecords(store, before, (tx, { id }) => tx.delete("audit", id));
  await writeRecords(store, [...entries.entries()], (tx, [index, entry]) =>
    tx.put("audit", entryKey(index + 1), entry),
  );
  await store.transact((tx) => tx.put("meta", "chain", { origin, length: entries.length, head, at: timestamp }));
}

/** Lists all checkpoints that an attacker could present as the service's newest one. */
export function listOfferedCheckpoints(attack: Attack, world: World, entries: readonly AuditEntry[]): string[] {
  const forged = [makeCheckpoint(entries, entries.length), makeCheckpoint(entries, entries.length, world.otherKey)];
  // Without the key nobody can sign a checkpoint of another log; the service itself signs one of the unchanged log.
  const own =
    attack.hasKey || (!attack.entries && !attack.setBack) ? [makeCheckpoint(entries, entries.length, world.key)] : [];
  // The service signed this one when the log had 100 entries.
  const older = makeCheckpoint(world.entries, 100, world.key);
  return [...own, older, ...forged];
}
