/** The newest changes, as queries look at them: read in slices that let other work run, and bounded. */
import { headOf } from "../../audit/chain.ts";
import type { AuditDeps } from "../../audit/deps.ts";
import { isRecord } from "../../governance/rules/record.ts";
import { recordIn } from "../../governance/rules/written_record.ts";
import { widely } from "../../kit/places.ts";
import { turn } from "../../kit/turn.ts";
import type { Store } from "../../store/store.ts";
import { type Row, rowOf } from "./row.ts";

/** So many of the newest changes are looked at. */
export const MOST_LOOKED_AT = 20_000;
/** Or so many characters of their records, where these are large. */
const MOST_TEXT = 64 * 1024 * 1024;
const SLICE = 500;

/** The newest changes; `complete` when these are all. */
export interface Look {
  /** Newest first. */
  rows: readonly Row[];
  /** How many records were looked at, those that are none included. */
  looked: number;
  complete: boolean;
}

/** The last look at a store: it holds until the log grows, since every step of a change is an entry. */
const known = new WeakMap<Store, { head: string; look: Promise<Look> }>();

/** Looks at the newest changes, or at what was seen of them when the log was as long. */
export async function look(deps: Pick<AuditDeps, "store" | "glance">): Promise<Look> {
  const { store } = deps;
  const head = (await headOf(deps))?.head ?? "";
  const last = known.get(store);
  if (last?.head === head) return last.look;
  const made = widely(store, () => scan(store));
  known.set(store, { head, look: made });
  made.catch(() => known.delete(store));
  return made;
}

async function scan(store: Store): Promise<Look> {
  const rows: Row[] = [];
  let looked = 0;
  let text = 0;
  for (let after: string | undefined; ; await turn()) {
    const limit = Math.min(SLICE, MOST_LOOKED_AT + 1 - looked);
    const slice = await store.texts("changes", { ...(after !== undefined && { after }), reverse: true, limit });
    for (const kept of slice) {
      if (looked === MOST_LOOKED_AT || text > MOST_TEXT) return { rows, looked, complete: false };
      looked++;
      text += kept.text.length;
      const record = recordIn(kept);
      if (isRecord(record)) rows.push(rowOf(record.change));
    }
    if (slice.length < limit) return { rows, looked, complete: true };
    after = slice.at(-1)!.id;
  }
}
