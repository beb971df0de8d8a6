/** What followers derive from beside the entries: what does not change any more once an entry speaks of it. */
import { entryKey } from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import { loadIntent } from "../changes/rules/intent.ts";
import type { Store } from "../store/store.ts";
import type { FollowDeps, Following, FollowedChange, FollowedIntent } from "./follower.ts";
import { readRecord, readRecords } from "../changes/records.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `ticks/<log length>`: the last cycle that found the log so long. */
    ticks: { tick: number };
  }
}

/** Manifests that were read, by their hash: each is read once, not by every slice of every follower. */
const manifests = new WeakMap<Store, Map<string, FollowedIntent>>();
const MOST_MANIFESTS = 16;

/** What a source reads by. */
export type SourceDeps = Pick<FollowDeps, "store" | "sha256" | "product">;

export type Source = Pick<Following<unknown>, "change" | "entriesAbout" | "intentOf" | "tickAt">;

/**
 * The source of a run of entries: the changes they are about are read once, and together. A run that is read before a change
 * is erased does not hold the entry that says so: whoever follows that forgets what was made of it.
 */
export function sourceOf({ store, sha256, product }: SourceDeps, entries: readonly AuditEntry[]): Source {
  const changes = new Map<string, FollowedChange>();
  let intents = manifests.get(store);
  if (!intents) manifests.set(store, (intents = new Map()));
  const known = intents;
  const today: FollowedIntent = { kpis: product?.intent.kpis ?? {}, principals: {} };
  /** The cycle of the entries after one and up to another. */
  let cycle = { after: 0, last: 0, tick: 0 };

  const readThese = async (ids: readonly string[]): Promise<void> => {
    const found = await readRecords(store, ids);
    ids.forEach((id, index) => changes.set(id, found[index]?.change ?? erased(id)));
  };
  let ahead: Promise<void> | undefined;
  /** Those of the whole run, for whoever asks meanwhile too. */
  const readAhead = (): Promise<void> =>
    (ahead ??= readThese([...new Set(entries.map(({ change_id }) => change_id))].filter((id) => id !== "")).catch(
      (error: unknown) => {
        ahead = undefined;
        throw error;
      },
    ));

  return {
    async change(changeId) {
      if (entries.length > 0 && !changes.has(changeId)) await readAhead();
      if (!changes.has(changeId)) await readThese([changeId]);
      return changes.get(changeId)!;
    },
    entriesAbout: async (changeId) => (await readRecord(store, changeId))?.audit ?? [],
    async intentOf(manifestHash) {
      if (manifestHash === null) return today;
      const read = known.get(manifestHash);
      if (read) return read;
      const text = (await store.get("manifests", manifestHash))?.value;
      if (text === undefined) return today;
      const { intent } = loadIntent(text, sha256);
      if (known.size === MOST_MANIFESTS) known.clear();
      known.set(manifestHash, intent);
      return intent;
    },
    async tickAt(entry) {
      if (cycle.after < entry && entry <= cycle.last) return cycle.tick;
      const [[mark], [next]] = await Promise.all([
        store.list("ticks", { after: entryKey(entry), limit: 1, reverse: true }),
        store.list("ticks", { after: entryKey(entry - 1), limit: 1, keysOnly: true }),
      ]);
      const last = Math.min(Number(next?.id ?? Infinity), entries.at(-1)?.id ?? entry);
      cycle = { after: Number(mark?.id ?? 0), last, tick: mark?.value.tick ?? 0 };
      return cycle.tick;
    },
  };
}

const erased = (change_id: string): FollowedChange => ({
  change_id,
  tenant_id: "erased",
  kind: "config",
  risk: "low",
  reversible: true,
  target: "erased",
  summary: "erased",
  rationale: "",
  proposer: null,
  proposer_kind: "unknown",
  created_at: "",
  kpi: null,
  expected_delta_k: null,
  approver: null,
  approval_note: null,
  approvals: [],
  status: "rolled_back",
});
