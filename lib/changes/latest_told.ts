/** What is kept of the service as a whole, held against the log: the freeze, and the last value of every KPI. */
import { readHead } from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import { entriesAfter } from "../audit/page.ts";
import { turn } from "../kit/turn.ts";
import type { Store } from "../store/store.ts";
import { detailIn } from "./rules/event.ts";
import type { Freeze } from "./rules/freeze.ts";
import { feed, type KpiState, NO_KPIS } from "./rules/kpi.ts";

const SLICE = 500;
const TRIES = 3;

/** Follows the log, and says at its end what is kept otherwise than it tells. */
export function latestTold(store: Store) {
  let length = 0;
  let frozen: AuditEntry | undefined;
  let kpis: KpiState = NO_KPIS;

  const take = (entries: readonly AuditEntry[]): void => {
    for (const entry of entries) {
      const { id, event_type, timestamp, detail } = entry;
      if (event_type === "service_frozen") frozen = entry;
      if (event_type === "service_unfrozen") frozen = undefined;
      if (event_type === "kpi_refreshed") kpis = feed(kpis, detailIn(detail).values ?? {}, timestamp, id);
      length = id;
    }
  };
  const compare = async (): Promise<string[]> => {
    const freeze = (await store.get("meta", "freeze"))?.value;
    const kept = (await store.get("kpi", "latest"))?.value ?? NO_KPIS;
    return [...(sameFreeze(freeze, frozen) ? [] : ["freeze"]), ...(sameKpis(kept, kpis) ? [] : ["kpi"])];
  };

  /** Takes in what the log has beyond what was taken in. */
  const readOn = async (): Promise<void> => {
    const end = (await readHead(store))?.length ?? 0;
    for (; length < end; await turn()) take(await entriesAfter(store, length, Math.min(SLICE, end - length)));
  };

  return {
    take,
    readOn,
    /** What the log tells up to its entry `length`. */
    told: () => ({ length, freeze: frozen && freezeIn(frozen), kpis }),
    /** `freeze`, `kpi`, or both. They may move while they are looked at: then what came since is read first. */
    async mismatches(): Promise<string[]> {
      for (let tries = 0; tries < TRIES; tries++) {
        const found = await compare();
        if (found.length === 0) return [];
        const before = length;
        await readOn();
        if (length === before && tries > 0) return found;
      }
      return compare();
    },
  };
}

/** The freeze that an entry tells of. */
export function freezeIn({ id, timestamp, detail }: AuditEntry): Freeze {
  const { actor, note, until } = JSON.parse(detail) as Freeze;
  return { actor, note, until, at: timestamp, entry: id };
}

const sameFreeze = (kept: Freeze | undefined, told: AuditEntry | undefined): boolean =>
  JSON.stringify(kept && inOrder(kept)) === JSON.stringify(told && inOrder(freezeIn(told)));

const inOrder = ({ actor, note, until, at, entry }: Freeze) => [actor, note, until, at, entry];

const sameKpis = (kept: KpiState, told: KpiState): boolean =>
  Object.keys(kept.values).length === Object.keys(told.values).length &&
  Object.entries(told.values).every(([kpi, { value, entry, first }]) => {
    const known = kept.values[kpi];
    return known?.value === value && known.entry === entry && known.first === first;
  });
