/** The stored state of the service (freeze, last value of every KPI), verified against the log. */
import { readHead } from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import { readLaterEntries } from "../audit/page.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import type { Store } from "../store/store.ts";
import { parseDetail } from "./rules/event.ts";
import { isListed, signedKey } from "./mandates/collections.ts";
import { mandateEvent } from "./mandates/read_mandate.ts";
import { evolveMandate, isMandateEvent, type MandateRecord } from "./rules/mandate_record.ts";
import { canonicalJson } from "../kit/canonical_json.ts";
import type { Freeze } from "./rules/freeze.ts";
import { feed, type KpiState, NO_KPIS } from "./rules/kpi.ts";

const SLICE = 500;
const TRIES = 3;

/** Follows the log, and says at its end what is kept otherwise than it tells. */
export function latestFromLog(store: Store) {
  let length = 0;
  let frozen: AuditEntry | undefined;
  let kpis: KpiState = NO_KPIS;
  const mandates = new Map<string, MandateRecord>();

  const take = (entries: readonly AuditEntry[]): void => {
    for (const entry of entries) {
      const { id, event_type, timestamp, detail } = entry;
      if (event_type === "service_frozen") frozen = entry;
      if (event_type === "service_unfrozen") frozen = undefined;
      if (event_type === "kpi_refreshed") kpis = feed(kpis, parseDetail(detail).values ?? {}, timestamp, id);
      if (isMandateEvent(event_type)) takeMandate(mandates, entry);
      length = id;
    }
  };
  const compare = async (): Promise<string[]> => {
    const freeze = (await store.get("meta", "freeze"))?.value;
    const kept = (await store.get("kpi", "latest"))?.value ?? NO_KPIS;
    return [
      ...(sameFreeze(freeze, frozen) ? [] : ["freeze"]),
      ...(sameKpis(kept, kpis) ? [] : ["kpi"]),
      ...(await findMandateMismatch(store, mandates)),
    ];
  };

  /** Takes in what the log has beyond what was taken in. */
  const readOn = async (): Promise<void> => {
    const end = (await readHead(store))?.length ?? 0;
    for (; length < end; await yieldToEventLoop())
      take(await readLaterEntries(store, length, Math.min(SLICE, end - length)));
  };

  return {
    take,
    readOn,
    /** State after the first `length` entries of the log. */
    logged: () => ({ length, freeze: frozen && parseFreeze(frozen), kpis, mandates }),
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

function takeMandate(mandates: Map<string, MandateRecord>, entry: AuditEntry): void {
  const event = mandateEvent(entry);
  const { mandate_id = "" } = event.detail;
  const mandate = evolveMandate(mandates.get(mandate_id), event);
  if (mandate) mandates.set(mandate_id, mandate);
}

/** Returns `mandates` where a stored mandate, or the index of those that have not ended, differs from the log. */
async function findMandateMismatch(store: Store, mandates: ReadonlyMap<string, MandateRecord>): Promise<string[]> {
  for (const [id, mandate] of mandates) {
    const [stored, row] = [await store.get("mandates", id), await store.get("mandates_by_agent", signedKey(mandate))];
    const isSame = stored !== undefined && canonicalJson(stored.value) === canonicalJson(mandate);
    if (!isSame || (row !== undefined) !== isListed(mandate)) return ["mandates"];
  }
  return [];
}

/** The freeze that an entry tells of. */
export function parseFreeze({ id, timestamp, detail }: AuditEntry): Freeze {
  const { actor, note, until } = JSON.parse(detail) as Freeze;
  return { actor, note, until, at: timestamp, entry: id };
}

const sameFreeze = (kept: Freeze | undefined, told: AuditEntry | undefined): boolean =>
  JSON.stringify(kept && inOrder(kept)) === JSON.stringify(told && inOrder(parseFreeze(told)));

const inOrder = ({ actor, note, until, at, entry }: Freeze) => [actor, note, until, at, entry];

const sameKpis = (kept: KpiState, told: KpiState): boolean =>
  Object.keys(kept.values).length === Object.keys(told.values).length &&
  Object.entries(told.values).every(([kpi, { value, entry, first }]) => {
    const known = kept.values[kpi];
    return known?.value === value && known.entry === entry && known.first === first;
  });
