/** Attacks on a log, by somebody who can write its file. */
import { entryKey } from "../../lib/audit/chain.ts";
import type { AuditEntry } from "../../lib/audit/entry.ts";
import type { Store } from "../../lib/store/store.ts";
import { inSlices } from "../support/in_slices.ts";
import { makeCheckpoint, copyStore, rehashed, type World } from "./world.ts";

/** A way to tamper; what is not given is left as it was. */
export interface Attack {
  what: string;
  /** The log afterwards. */
  entries?: (world: World) => AuditEntry[];
  /** Edits of the store without log entries. */
  store?: (store: Store) => Promise<void>;
  /** The store is replaced by the copy made some 20 entries ago. */
  setBack?: true;
  /** Signs checkpoints with the service's own key. */
  hasKey?: true;
}

/** Range of tampering: behind the older receipt and checkpoint, before the newer. */
export const PLACE = 150;

const at = (entries: readonly AuditEntry[], place: number): AuditEntry => entries[place - 1]!;
const edited = (entry: AuditEntry): AuditEntry => ({ ...entry, tenant: "somebody else" });
const replaced = (entries: AuditEntry[], place: number, ...by: AuditEntry[]): AuditEntry[] =>
  entries.toSpliced(place - 1, 1, ...by);
/** An edit that no change record speaks of, with every hash made right again. */
const rewritten = ({ entries }: World): AuditEntry[] => {
  const index = entries.findIndex(({ id, event_type }) => id >= PLACE && event_type === "kpi_refreshed");
  return rehashed(replaced([...entries], index + 1, edited(entries[index]!)), index);
};

/** Takes away what the service itself would have noticed it by. */
async function coverUp(store: Store): Promise<void> {
  await store.transact((tx) => {
    tx.delete("meta", "merkle");
    tx.delete("meta", "checkpoint");
  });
}

export const ATTACKS: Attack[] = [
  { what: "nothing" },
  {
    what: "a field of an entry edited",
    entries: ({ entries }) => replaced(entries, PLACE, edited(at(entries, PLACE))),
  },
  {
    what: "an entry edited, its own hash made right",
    entries: ({ entries }) =>
      replaced(entries, PLACE, rehashed(replaced(entries, PLACE, edited(at(entries, PLACE))), PLACE - 1)[PLACE - 1]!),
  },
  { what: "an entry removed from the middle", entries: ({ entries }) => replaced(entries, PLACE) },
  {
    what: "an entry put in between",
    entries: ({ entries }) => replaced(entries, PLACE, edited(at(entries, PLACE)), at(entries, PLACE)),
  },
  {
    what: "two entries swapped",
    entries: ({ entries }) => entries.with(PLACE - 1, at(entries, PLACE + 1)).with(PLACE, at(entries, PLACE)),
  },
  {
    what: "an entry repeated",
    entries: ({ entries }) => replaced(entries, PLACE, at(entries, PLACE), at(entries, PLACE)),
  },
  {
    what: "an entry of another log in its place",
    entries: ({ entries, other }) => replaced(entries, PLACE, at(other, PLACE)),
  },
  { what: "the whole log replaced by another", entries: ({ other }) => other, store: coverUp },
  { what: "the last 20 entries cut off", entries: ({ entries }) => entries.slice(0, -20) },
  { what: "the store set back to an older copy", setBack: true },
  {
    what: "the last entry edited, its hash made right",
    entries: ({ entries }) => rehashed(replaced(entries, entries.length, edited(entries.at(-1)!)), entries.length - 1),
  },
  { what: "rewritten from one entry on, all hashes made right", entries: rewritten },
  { what: "rewritten, and its traces in the store", entries: rewritten, store: coverUp },
  { what: "rewritten by somebody who holds the signing key", entries: rewritten, store: coverUp, hasKey: true },
  { what: "a change's stored record edited, the log untouched", store: forgeRecord },
  { what: "nothing edited: somebody lied, and it is recorded" },
];

async function forgeRecord(store: Store): Promise<void> {
  const records = await store.list("changes", { limit: 1000 });
  const { id, value } = records.find(({ value }) => value.change.status === "denied")!;
  await store.transact((tx) =>
    tx.put("changes", id, { ...value, change: { ...value.change, status: "approved", resolution: null } }),
  );
}

/** The store afterwards. */
export async function attackStore(attack: Attack, world: World): Promise<Store> {
  if (attack.setBack) return copyStore(world.older);
  const store = await copyStore(world.deps.store);
  if (attack.entries) await plant(store, attack.entries(world));
  await attack.store?.(store);
  return store;
}

/** Puts entries in the place of the log, and the head that belongs to them. */
async function plant(store: Store, entries: readonly AuditEntry[]): Promise<void> {
  const before = await store.list("audit", { limit: 10_000 });
  const { origin, current_hash: head, timestamp } = entries.at(-1)!;
  await inSlices(store, before, (tx, { id }) => tx.delete("audit", id));
  await inSlices(store, [...entries.entries()], (tx, [index, entry]) => tx.put("audit", entryKey(index + 1), entry));
  await store.transact((tx) => tx.put("meta", "chain", { origin, length: entries.length, head, at: timestamp }));
}

/** Everything that an attacker may offer as the service's newest signed checkpoint. */
export function offered(attack: Attack, world: World, entries: readonly AuditEntry[]): string[] {
  const forged = [makeCheckpoint(entries, entries.length), makeCheckpoint(entries, entries.length, world.otherKey)];
  const own =
    attack.hasKey || (!attack.entries && !attack.setBack) ? [makeCheckpoint(entries, entries.length, world.key)] : [];
  return [...own, makeCheckpoint(world.entries, 100, world.key), ...forged];
}
