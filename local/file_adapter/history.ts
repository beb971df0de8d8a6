/** What stood before each change, and what the file no longer shows. It lies in the store's collection `adapter`. */
import type { Change } from "../../lib/changes/rules/change.ts";
import { sameTarget } from "../../lib/changes/rules/names.ts";
import type { Store } from "../../lib/store/store.ts";
import { type Config, ConfigBroken, type Entry } from "./config_file.ts";
import { own } from "./json_object.ts";

const LATEST = 100;
/** What to do where the file does not tell enough to go back by. */
export const BY_HAND =
  "set the value by hand, show the change in changes with the state rolled_back, and roll back again";
/** As many as a transaction may write: a file that another hand filled is pruned of more. */
const SLICE = 50;

/** `adapter/<id>`: what the adapter keeps, by kind. */
interface AdapterRecords {
  [latest: `application/${string}`]: Application;
  [earlier: `earlier/${string}`]: Application;
  [pruned: `entry/${string}`]: Entry;
  [tenant: `tenant/${string}`]: { made: boolean };
}

declare module "../../lib/store/store.ts" {
  interface Collections {
    adapter: Singles<AdapterRecords>;
  }
}

/** One application of a change: rolled back, it may be applied again, on top of another owner. */
export interface ApplicationRef {
  change_id: string;
  /** 1 for the change's first application. */
  n: number;
}

/** What a target held before, and whose it was. `owner` is absent when it was nobody's. */
export interface Previous {
  present: boolean;
  value?: unknown;
  owner?: ApplicationRef;
}

/** Recorded before the file shows the change, and never altered once it does. */
export interface Application {
  n: number;
  sets: boolean;
  /** The target as the file spells it. */
  key: string;
  previous: Previous;
}

/** A record to be made durable before the file is written: its id in the collection, and its value. */
export type HistoryRecord = { [I in keyof AdapterRecords]: [id: I, value: AdapterRecords[I]] }[keyof AdapterRecords];

/** Reads and writes the adapter's records. */
export interface History {
  application(change_id: string): Promise<Application | undefined>;
  /** The entry as the file shows it, or showed it last. */
  entry(config: Config, change_id: string): Promise<Entry | undefined>;
  /** The change that owns the target of `change`, other than `change` itself. */
  owner(config: Config, change: Change): Promise<string | undefined>;
  /** What the target goes back to: what was found, past every owner that was itself rolled back meanwhile. Errors: `ConfigBroken`. */
  resolve(config: Config, found: Previous): Promise<Previous>;
  /** Whether the tenant's object in the file is the adapter's own making. */
  madeTenant(tenant_id: string): Promise<boolean>;
  keep(records: readonly HistoryRecord[]): Promise<void>;
  /** Removes the value that a change set from what later applications found. */
  forget(change_id: string): Promise<void>;
}

/** Whether the change sets a value; one that sets none supersedes only its like, for it holds nothing. */
export const setsValue = (change: Change): boolean => change.value !== undefined;

/** The latest applied change on a target: it stays in the file, however old it is. */
export const isOwner = (entry: Entry): boolean => entry.state === "applied" && entry.superseded_by === undefined;

/** The records of a new application; an earlier one is kept aside, for later changes may refer to it. */
export function applicationRecords(
  change: Change,
  key: string,
  previous: Previous,
  earlier: Application | undefined,
): HistoryRecord[] {
  const id = change.change_id;
  const application: Application = { n: (earlier?.n ?? 0) + 1, sets: setsValue(change), key, previous };
  const records: HistoryRecord[] = [[latestId(id), application]];
  if (earlier !== undefined) records.push([earlierId(id, earlier.n), earlier]);
  return records;
}

/** The record that the tenant's object is, or is not, the adapter's own making. */
export const tenantRecord = (tenant_id: string, made: boolean): HistoryRecord => [tenantId(tenant_id), { made }];

/** Takes from the file's changes all but the owners and the latest 100; answers the records that keep what was taken. */
export function prune(changes: Config["changes"]): HistoryRecord[] {
  const surplus = Object.entries(changes)
    .slice(0, -LATEST)
    .filter(([, entry]) => !isOwner(entry));
  for (const [id] of surplus) delete changes[id];
  return surplus.map(([id, entry]) => [prunedId(id), entry]);
}

const tenantId = (tenant_id: string) => `tenant/${tenant_id}` as const;
const latestId = (change_id: string) => `application/${change_id}` as const;
const earlierId = (change_id: string, n: number) => `earlier/${n}/${change_id}` as const;
const prunedId = (change_id: string) => `entry/${change_id}` as const;

/** The adapter's history in a store. */
export function storedHistory(store: Store): History {
  const get = async <I extends keyof AdapterRecords>(id: I) => (await store.get("adapter", id))?.value;

  const history: History = {
    application: (change_id) => get(latestId(change_id)),

    entry: async (config, change_id) => own(config.changes, change_id) ?? (await get(prunedId(change_id))),

    async owner(config, change) {
      let owner: string | undefined;
      for (const [id, entry] of Object.entries(config.changes)) {
        if (id === change.change_id || !isOwner(entry) || entry.tenant_id !== change.tenant_id) continue;
        if (sameTarget(entry.target) !== sameTarget(change.target)) continue;
        const application = await history.application(id);
        if ((application?.sets ?? true) === setsValue(change)) owner = id;
      }
      return owner;
    },

    async resolve(config, found) {
      let before = found;
      while (before.owner !== undefined) {
        const { change_id, n } = before.owner;
        const latest = await history.application(change_id);
        const current = latest === undefined || latest.n === n;
        const entry = await history.entry(config, change_id);
        // It may have been rolled back or not: both leave another value to go back to.
        if (!entry) throw new ConfigBroken(`shows nothing of ${change_id}, which held the target before`, BY_HAND);
        if (current && entry.state === "applied") return before;
        const application = current ? latest : await get(earlierId(change_id, n));
        const { owner: _, ...held } = before;
        before = application?.previous ?? held;
      }
      return before;
    },

    madeTenant: async (tenant_id) => (await get(tenantId(tenant_id)))?.made ?? false,

    async keep(records) {
      for (let start = 0; start < records.length; start += SLICE)
        await store.transact((tx) => {
          for (const [id, value] of records.slice(start, start + SLICE)) tx.put("adapter", id, value);
        });
    },

    async forget(change_id) {
      for (const prefix of ["application/", "earlier/"] as const)
        for (let after = "", more = true; more;) {
          const page = await store.list("adapter", { prefix, after, limit: SLICE });
          for (const { id, value } of page) {
            const { previous } = value as Application;
            if (previous.owner?.change_id !== change_id || !("value" in previous)) continue;
            const { value: _, ...found } = previous;
            await history.keep([[id, { ...value, previous: found }] as HistoryRecord]);
          }
          after = page.at(-1)?.id ?? after;
          more = page.length === SLICE;
        }
    },
  };
  return history;
}
