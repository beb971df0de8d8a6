/** What followers derive from beside the entries: what does not change any more once an entry speaks of it. */
import { entryKey } from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import { keptIntent } from "../governance/rules/intent.ts";
import type { Store } from "../store/store.ts";
import type { FollowDeps, Following, ToldChange, ToldIntent } from "./follower.ts";
import { readRecord, readRecords } from "../governance/records.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `ticks/<log length>`: the last cycle that found the log so long. */
    ticks: { tick: number };
  }
}

const READ_AHEAD = 50;

/** Manifests that were read, by their hash: each is read once, not by every slice of every follower. */
const manifests = new WeakMap<Store, Map<string, ToldIntent>>();
const MOST_MANIFESTS = 16;

type Source = Pick<Following<unknown>, "change" | "entriesAbout" | "intentOf" | "tickAt">;

/** The source of a run of entries: the changes they are about are read together. */
export function sourceOf({ store, sha256, product }: FollowDeps, entries: readonly AuditEntry[]): Source {
  const changes = new Map<string, ToldChange>();
  let intents = manifests.get(store);
  if (!intents) manifests.set(store, (intents = new Map()));
  const known = intents;
  const today: ToldIntent = { kpis: product?.intent.kpis ?? {}, principals: {} };
  let tick: { entry: number; tick: number } | undefined;

  const readAhead = async (changeId: string): Promise<void> => {
    const at = entries.findIndex(({ change_id }) => change_id === changeId);
    const ahead = at === -1 ? [] : entries.slice(at, at + READ_AHEAD).map(({ change_id }) => change_id);
    const ids = [...new Set([changeId, ...ahead])].filter((id) => id !== "" && !changes.has(id));
    const found = await readRecords(store, ids);
    ids.forEach((id, index) => changes.set(id, found[index]?.change ?? erased(id)));
  };

  return {
    async change(changeId) {
      if (!changes.has(changeId)) await readAhead(changeId);
      return changes.get(changeId)!;
    },
    entriesAbout: async (changeId) => (await readRecord(store, changeId))?.audit ?? [],
    async intentOf(manifestHash) {
      if (manifestHash === null) return today;
      const read = known.get(manifestHash);
      if (read) return read;
      const text = (await store.get("manifests", manifestHash))?.value;
      if (text === undefined) return today;
      const { intent } = keptIntent(text, sha256);
      if (known.size === MOST_MANIFESTS) known.clear();
      known.set(manifestHash, intent);
      return intent;
    },
    async tickAt(entry) {
      if (tick?.entry === entry) return tick.tick;
      const [mark] = await store.list("ticks", { after: entryKey(entry), limit: 1, reverse: true });
      tick = { entry, tick: mark?.value.tick ?? 0 };
      return tick.tick;
    },
  };
}

const erased = (change_id: string): ToldChange => ({
  change_id,
  tenant_id: "erased",
  kind: "config",
  risk: "low",
  reversible: true,
  target: "erased",
  summary: "erased",
  rationale: "",
  proposer: null,
  created_at: "",
  kpi: null,
  expected_delta_k: null,
  approver: null,
  approval_note: null,
  approvals: [],
  status: "rolled_back",
});
