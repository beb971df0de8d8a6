/** The latest freeze, KPI values and mandates in the log, which are compared with the stored state of the service. */
import { readHead } from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import { readLaterEntries } from "../audit/page.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import type { Store } from "../store/store.ts";
import { parseDetail } from "./rules/event.ts";
import { isSignedMandate, agentMandateKey } from "./mandates/collections.ts";
import { parseMandateEvent } from "./mandates/read_mandate.ts";
import { evolveMandate, isMandateEvent, type MandateRecord } from "./rules/mandate_record.ts";
import { canonicalJson } from "../kit/canonical_json.ts";
import type { Freeze } from "./rules/freeze.ts";
import { addFeedValues, type KpiState, NO_KPIS } from "./rules/kpi.ts";

const SLICE_SIZE = 500;
const MAX_ATTEMPTS = 3;

/** Creates a fold of the log into the latest freeze, KPIs and mandates, which is compared with the stored ones. */
export function createLatestState(store: Store) {
  let length = 0;
  let frozen: AuditEntry | undefined;
  let kpis: KpiState = NO_KPIS;
  const mandates = new Map<string, MandateRecord>();

  const fold = (entries: readonly AuditEntry[]): void => {
    for (const entry of entries) {
      const { id, event_type, timestamp, detail } = entry;
      if (event_type === "service_frozen") frozen = entry;
      if (event_type === "service_unfrozen") frozen = undefined;
      if (event_type === "kpi_refreshed") kpis = addFeedValues(kpis, parseDetail(detail).values ?? {}, timestamp, id);
      if (isMandateEvent(event_type)) foldMandate(mandates, entry);
      length = id;
    }
  };
  const compare = async (): Promise<string[]> => {
    const freeze = (await store.get("meta", "freeze"))?.value;
    const stored = (await store.get("kpi", "latest"))?.value ?? NO_KPIS;
    return [
      ...(isSameFreeze(freeze, frozen) ? [] : ["freeze"]),
      ...(areSameKpis(stored, kpis) ? [] : ["kpi"]),
      ...(await findMandateMismatch(store, mandates)),
    ];
  };

  /** Reads and folds the entries that were not folded yet. */
  const readRemaining = async (): Promise<void> => {
    const end = (await readHead(store))?.length ?? 0;
    for (; length < end; await yieldToEventLoop())
      fold(await readLaterEntries(store, length, Math.min(SLICE_SIZE, end - length)));
  };

  return {
    fold,
    readRemaining,
    /** State after the entries that were folded; `length`: their number. */
    logged: () => ({ length, freeze: frozen && parseFreeze(frozen), kpis, mandates }),
    /**
     * Lists which of `freeze`, `kpi` and `mandates` differ from the log, after reading entries that were appended in the meantime.
     */
    async mismatches(): Promise<string[]> {
      for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
        const differences = await compare();
        if (differences.length === 0) return [];
        const lengthBefore = length;
        await readRemaining();
        // Differences count only if a second comparison finds them too, without new entries.
        if (length === lengthBefore && tries > 0) return differences;
      }
      return compare();
    },
  };
}

function foldMandate(mandates: Map<string, MandateRecord>, entry: AuditEntry): void {
  const event = parseMandateEvent(entry);
  const { mandate_id = "" } = event.detail;
  const mandate = evolveMandate(mandates.get(mandate_id), event);
  if (mandate) mandates.set(mandate_id, mandate);
}

/** Returns `mandates` if a stored mandate, or the index of mandates that have not ended, differs from the log. */
async function findMandateMismatch(store: Store, mandates: ReadonlyMap<string, MandateRecord>): Promise<string[]> {
  for (const [id, mandate] of mandates) {
    const stored = await store.get("mandates", id);
    const row = await store.get("mandates_by_agent", agentMandateKey(mandate));
    const isSame = stored !== undefined && canonicalJson(stored.value) === canonicalJson(mandate);
    if (!isSame || (row !== undefined) !== isSignedMandate(mandate)) return ["mandates"];
  }
  return [];
}

export function parseFreeze({ id, timestamp, detail }: AuditEntry): Freeze {
  const { actor, note, until } = JSON.parse(detail) as Freeze;
  return { actor, note, until, at: timestamp, entry: id };
}

const isSameFreeze = (stored: Freeze | undefined, logged: AuditEntry | undefined): boolean =>
  JSON.stringify(stored && listFields(stored)) === JSON.stringify(logged && listFields(parseFreeze(logged)));

const listFields = ({ actor, note, until, at, entry }: Freeze) => [actor, note, until, at, entry];

const areSameKpis = (stored: KpiState, logged: KpiState): boolean =>
  Object.keys(stored.values).length === Object.keys(logged.values).length &&
  Object.entries(logged.values).every(([kpi, { value, entry, first }]) => {
    const storedValue = stored.values[kpi];
    return storedValue?.value === value && storedValue.entry === entry && storedValue.first === first;
  });
