/** What applied changes say each target should be, by tenant: the newest that sets a value and was not rolled back. */
import { entryKey } from "../audit/chain.ts";
import type { Follower, Following } from "./follower.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `values/<tenant\ntarget>`: the change that a target has its value of. */
    values: ValueSource;
    /** `values_applied/<change_id>`: the applied changes that set a value, and where. */
    values_applied: Omit<ValueSource, "change_id"> & { place: string };
    /** `values_order/<tenant\ntarget\napplied entry>`: the same by their targets, in the order of their apply. */
    values_order: string;
  }
}

/** A change whose content is the value of a target; that is kept nowhere else, so that an erasure need not look for it. */
export interface ValueSource {
  change_id: string;
  /** Its apply. */
  entry: number;
  applied_at: string;
}

/** The place of a tenant's target; neither holds a line break. */
export const valuePlace = (tenant_id: string, target: string): string => tenantPrefix(tenant_id) + target.toLowerCase();

/** What the places of a tenant's targets begin with. */
export const tenantPrefix = (tenant_id: string): string => `${tenant_id}\n`;

export const values: Follower<null> = {
  name: "values",
  collections: ["values", "values_applied", "values_order"],
  start: null,
  follow(on, { id, event_type, timestamp, change_id }) {
    if (event_type === "change_applied") return applied(on, { change_id, entry: id, applied_at: timestamp });
    if (event_type === "change_rolled_back") return rolledBack(on, change_id);
  },
};

async function applied({ tx, change }: Following<null>, source: ValueSource): Promise<void> {
  const { change_id, ...when } = source;
  const { tenant_id, target, value, erased, status } = await change(change_id);
  // Of an applied change a value is not erased. One that was rolled back may have had one; the entry that says so comes later.
  if (value === undefined && !(erased && status === "rolled_back")) return;
  const place = valuePlace(tenant_id, target);
  tx.put("values_applied", change_id, { place, ...when });
  tx.put("values_order", `${place}\n${entryKey(when.entry)}`, change_id);
  tx.put("values", place, source);
}

/** What was there before comes back; a change that a later one has superseded leaves the value alone. */
async function rolledBack({ tx }: Following<null>, change_id: string): Promise<void> {
  const gone = (await tx.get("values_applied", change_id))?.value;
  if (!gone) return;
  const { place, entry } = gone;
  tx.delete("values_applied", change_id);
  tx.delete("values_order", `${place}\n${entryKey(entry)}`);
  if ((await tx.get("values", place))?.value.change_id !== change_id) return;
  const [newest] = await tx.list("values_order", { prefix: `${place}\n`, limit: 1, reverse: true });
  const before = newest && (await tx.get("values_applied", newest.value))?.value;
  if (!before) return tx.delete("values", place);
  const { place: _, ...when } = before;
  tx.put("values", place, { change_id: newest.value, ...when });
}
