/** Projection of the value that each target should have: that of its newest applied change that sets one. */
import { entryKey } from "../audit/chain.ts";
import type { PlanEntry } from "../changes/rules/change.ts";
import { listRolledBackTargets } from "../changes/rules/rolled_back_targets.ts";
import { listEntries as listTargets } from "../changes/rules/list_entries.ts";
import { MAX_WRITES_PER_STEP, type ProjectedChange, type Projection, type ProjectionContext } from "./projection.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `values/<tenant\ntarget>`: the change that set the target's value. */
    values: ValueSource;
    /** `values_order/<tenant\ntarget\napplied entry>`: all applied changes that set a value, by target. */
    values_order: ValueSource;
  }
}

/** A change that contains the value of a target; the value is stored nowhere else, so that an erasure needs no search. */
export interface ValueSource {
  change_id: string;
  /** The entry of its apply. */
  entry: number;
  applied_at: string;
}

/** Returns the key of a tenant's target; neither contains a line break. */
export const valueKey = (tenant_id: string, target: string): string => tenantPrefix(tenant_id) + target.toLowerCase();

/** Returns the prefix of the keys of a tenant's targets. */
export const tenantPrefix = (tenant_id: string): string => `${tenant_id}\n`;

export const values: Projection<null> = {
  name: "values",
  collections: ["values", "values_order"],
  start: null,
  async apply(context, { id, event_type, timestamp, change_id, tenant, detail }, step) {
    const isApply = event_type === "change_applied";
    if (!isApply && event_type !== "change_rolled_back" && event_type !== "change_rollback_failed") return;
    // The change as it is now, which may be later than this entry.
    const change = await context.readChange(change_id);
    // A failed rollback of a plan may have rolled back some of its targets.
    const targets = isApply ? listTargets(change) : listRolledBackTargets({ event_type, tenant, detail });
    // Each target takes two writes, so a plan of up to twenty targets takes several steps. The first step is `""`, which becomes 0.
    const begin = Number(step);
    const source = { change_id, entry: id, applied_at: timestamp };
    for (const entry of targets.slice(begin, begin + TARGETS_PER_STEP))
      if (isApply) setValue(context, { change, entry, source });
      else await restoreValue(context, change_id, valueKey(entry.tenant_id, entry.target));
    return begin + TARGETS_PER_STEP < targets.length ? String(begin + TARGETS_PER_STEP) : undefined;
  },
};

const TARGETS_PER_STEP = MAX_WRITES_PER_STEP / 2;

const orderKey = (key: string, entry: number): string => `${key}\n${entryKey(entry)}`;

/** A target that an apply sets. */
interface SetTarget {
  change: Pick<ProjectedChange, "erased" | "status">;
  entry: PlanEntry;
  source: ValueSource;
}

function setValue({ tx }: ProjectionContext<null>, { change, entry, source }: SetTarget): void {
  // An erased change lacks its value. It can be erased while it is applied only if it set no value. If it was rolled back since, it
  // may have set one: its rows are stored here, and removed again at the entry of the rollback.
  if (entry.value === undefined && !(change.erased && change.status === "rolled_back")) return;
  const key = valueKey(entry.tenant_id, entry.target);
  tx.put("values_order", orderKey(key, source.entry), source);
  tx.put("values", key, source);
}

/** Restores the value before that of a change; after a later change, only the rows of the change in `values_order` are deleted. */
async function restoreValue(
  { tx, listEntries }: ProjectionContext<null>,
  changeId: string,
  key: string,
): Promise<void> {
  const current = (await tx.get("values", key))?.value;
  if (current?.change_id === changeId) {
    tx.delete("values_order", orderKey(key, current.entry));
    const [before] = await tx.list("values_order", { prefix: `${key}\n`, limit: 1, reverse: true });
    if (before) tx.put("values", key, before.value);
    else tx.delete("values", key);
    return;
  }
  const keys = (await listEntries(changeId)).map((entry) => orderKey(key, entry));
  for (const applied of await tx.getMany("values_order", keys)) if (applied) tx.delete("values_order", applied.id);
}
