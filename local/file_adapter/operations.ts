/** The adapter's operations on the file's content. They alter the content given, and say what must be kept first. */
import type { HostState, RollbackTold, ToldRollback } from "../../lib/changes/operations/adapter_port.ts";
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import type { Change } from "../../lib/changes/rules/change.ts";
import { samePlace, sameTarget } from "../../lib/changes/rules/names.ts";
import { type Config, ConfigBroken, type Entry } from "./config_file.ts";
import {
  applicationRecords,
  BY_HAND,
  type History,
  type HistoryRecord,
  isOwner,
  type Previous,
  setsValue,
  tenantRecord,
} from "./history.ts";
import { sha256 } from "../node_ports.ts";
import { deeperThan, isObject, type JsonObject, own, put } from "./json_object.ts";

const VALUE_DEPTH = 64;

/** What an operation came to; without `state` the file already shows it and is not written. */
export interface Outcome {
  result: "applied" | "rolled_back" | "superseded";
  state?: "applied" | "rolled_back";
  records: HistoryRecord[];
  /** What the target held before an apply, `null` for nothing; absent where that is not on record. */
  previous?: { value: unknown } | null;
}

/** What a target holds now. `key` is its spelling: the file's own, else the change's. */
export interface Held {
  key: string;
  present: boolean;
  value?: unknown;
}

/** Why the file cannot carry the change, if it cannot. */
export function refusal({ tenant_id, target, value = null }: Change): string | undefined {
  if (tenant_id === "" || !tenant_id.isWellFormed()) return "tenant_id is empty or not well-formed Unicode";
  if (target === "" || !target.isWellFormed()) return "target is empty or not well-formed Unicode";
  if (deeperThan(value, VALUE_DEPTH)) return `value nests more than ${VALUE_DEPTH} levels deep`;
  try {
    canonicalJson(value);
  } catch {
    return "value is not JSON of well-formed Unicode";
  }
  return undefined;
}

/** What the change's target holds. Throws `ConfigBroken` when the tenant's values are no object. */
export function held(config: Config, change: Change): Held {
  const values = tenantValues(config, change.tenant_id) ?? {};
  const key = Object.keys(values).find((name) => sameTarget(name) === sameTarget(change.target));
  return key === undefined ? nothing(config, change) : { key, present: true, value: own(values, key) };
}

/** Shows the change as applied, and sets its target. A change that the file shows as applied keeps its place. */
export async function apply(config: Config, change: Change, at: string, history: History): Promise<Outcome> {
  const refused = refusal(change);
  if (refused !== undefined) throw new Error(`the product config file cannot carry the change: ${refused}`);
  const id = change.change_id;
  const shown = await shownEntry(config, change, history);
  const application = setsValue(change) ? await history.application(id) : undefined;
  // The store was restored from before that apply, and what the file has in its place is of the time that was lost.
  const isLost = setsValue(change) && application === undefined && shown !== undefined && !isOwner(shown);
  if (shown?.state === "applied" && !isLost) {
    const done = { result: "applied", ...(application && previousOf(application.previous)) } as const;
    if (!isOwner(shown) || holdsValue(config, change)) return { ...done, records: [] };
    show(config, change, { state: "applied", at });
    return { ...done, state: "applied", records: await setTarget(config, change, history) };
  }

  const before = previousOf(held(config, change));
  const { key, ...previous }: Held & Previous = setsValue(change) ? held(config, change) : nothing(config, change);
  const owner = await history.owner(config, change);
  if (owner !== undefined) {
    previous.owner = { change_id: owner, n: (await history.application(owner))?.n ?? 1 };
    config.changes[owner]!.superseded_by = id;
  }
  const records = applicationRecords(change, key, previous, application ?? (await history.application(id)));
  if (setsValue(change)) records.push(...(await setTarget(config, change, history)));
  show(config, change, { state: "applied", at });
  return { result: "applied", state: "applied", records, ...before };
}

/** What is on record of a target, as an adapter says it. A value is taken as it was: the file's content is altered. */
const previousOf = ({ present, value }: Omit<Previous, "owner">): Pick<Outcome, "previous"> => ({
  previous: present ? { value: structuredClone(value) } : null,
});

/**
 * Shows the change as rolled back. An owner's target goes back to what it held before; a superseded change's stays, and
 * what was before it is found through its record when the later one goes. A change that the file lost is taken back by its
 * record alone.
 */
export async function rollback(
  config: Config,
  change: Change,
  at: string,
  history: History,
  told?: RollbackTold,
): Promise<Outcome> {
  const id = change.change_id;
  const shown = await shownEntry(config, change, history);
  if (shown?.state === "rolled_back")
    return { result: shown.superseded_by === undefined ? "rolled_back" : "superseded", records: [] };
  if (shown === undefined && change.status !== "applied") {
    // What is on record of it is what an apply left that was cut off before the file showed it.
    show(config, change, { state: "rolled_back", at });
    return { result: "rolled_back", state: "rolled_back", records: [] };
  }
  const application = await history.application(id);
  if (application === undefined)
    throw new ConfigBroken(`shows ${shown ? `${id} as applied` : `nothing of ${id}`}, but ${UNRECORDED}`, BY_HAND);

  const found = (): Promise<Previous> => history.resolve(config, application.previous);
  const named = own(config.changes, id)?.superseded_by;
  // One that was rolled back holds nothing, whatever still names it.
  const holds = named !== undefined && (await history.entry(config, named))?.state === "applied";
  const owner = holds ? named : await history.owner(config, change);
  // In a file that lost the change, its owner may be the one from before it.
  const seen = shown || owner === undefined || owner !== (await found()).owner?.change_id ? owner : undefined;
  const toldOf = setsValue(change) ? await told?.(id) : undefined;
  // One that the log does not have yet may be on its way; one that it has and does not tell of here is not over this one.
  const isPast = seen !== undefined && toldOf?.superseded === false && (await toldOf.isApplied(seen));
  const later = isPast ? undefined : seen;
  if (toldOf?.superseded && later === undefined)
    throw new ConfigBroken(`has ${id} hold its target, and the audit log a later change`, BY_HAND);
  if (later !== undefined) {
    for (const entry of Object.values(config.changes)) if (entry.superseded_by === id) entry.superseded_by = later;
    show(config, change, { state: "rolled_back", at, superseded_by: later });
    return { result: "superseded", state: "rolled_back", records: [] };
  }

  const before = await found();
  if (toldOf) requireReplaced(id, before, toldOf);
  if (setsValue(change) && (shown !== undefined || !isBack(config, change, before)))
    await restore(config, change, application.key, before, history);
  if (before.owner !== undefined) {
    const { superseded_by: _, ...entry } = (await history.entry(config, before.owner.change_id))!;
    put(config.changes, before.owner.change_id, entry);
  }
  show(config, change, { state: "rolled_back", at });
  return { result: "rolled_back", state: "rolled_back", records: [] };
}

/** What is put back must be what the log says was replaced; where it does not say, it is taken as it was kept. */
function requireReplaced(id: string, previous: Previous, { digest }: ToldRollback): void {
  if (digest === undefined) return;
  const kept = previous.present ? sha256(canonicalJson(previous.value ?? null)) : null;
  if (kept === digest) return;
  throw new ConfigBroken(
    `would get back what ${id} did not replace, by the audit log: the adapter's record of it was edited`,
    BY_HAND,
  );
}

const UNRECORDED = "what was before it is not on record";

/** Whether the target of a change that the file lost holds what was before it, and not what it set. */
function isBack(config: Config, change: Change, previous: Previous): boolean {
  const { present, value } = held(config, change);
  if (present === previous.present && (!present || canonicalJson(value) === canonicalJson(previous.value))) return true;
  if (holdsValue(config, change)) return false;
  throw new ConfigBroken(
    `shows nothing of ${change.change_id}, and its target holds neither what it set nor what was before it`,
    BY_HAND,
  );
}

/** What the file shows of the change; an owner's value must be what the change set. */
export async function verify(config: Config, change: Change, history: History): Promise<HostState> {
  const shown = await shownEntry(config, change, history);
  if (shown === undefined) return "absent";
  if (shown.state === "rolled_back") return "rolled_back";
  if (shown.state !== "applied") return "unknown";
  return !isOwner(shown) || holdsValue(config, change) ? "applied" : "unknown";
}

/** An entry that left the file as applied was superseded: it counts while the file shows the owner that did it. */
async function shownEntry(config: Config, change: Change, history: History): Promise<Entry | undefined> {
  const entry = await history.entry(config, change.change_id);
  const left = entry?.state === "applied" && own(config.changes, change.change_id) === undefined;
  return left && (await history.owner(config, change)) === undefined ? undefined : entry;
}

/** A target that the file has had before keeps the spelling with which it was first applied. */
function nothing(config: Config, change: Change): Held {
  const shown = Object.values(config.changes).find((entry) => samePlace(entry, change));
  return { key: shown?.target ?? change.target, present: false };
}

function holdsValue(config: Config, change: Change): boolean {
  if (!setsValue(change)) return true;
  const { present, value } = held(config, change);
  return present && canonicalJson(value) === canonicalJson(change.value);
}

function show(config: Config, change: Change, now: Pick<Entry, "state" | "at" | "superseded_by">): void {
  const { superseded_by: _, ...entry } = own(config.changes, change.change_id) ?? {};
  const { kind, tenant_id } = change;
  const target = held(config, change).key;
  delete config.changes[change.change_id];
  put(config.changes, change.change_id, { ...entry, kind, target, tenant_id, ...now });
}

function tenantValues(config: Config, tenant_id: string): JsonObject | undefined {
  const values = own(config.values, tenant_id);
  if (values !== undefined && !isObject(values))
    throw new ConfigBroken(`values[${JSON.stringify(tenant_id)}] is not an object`);
  return values;
}

async function setTarget(config: Config, change: Change, history: History): Promise<HistoryRecord[]> {
  const { tenant_id } = change;
  const present = tenantValues(config, tenant_id);
  const values = present ?? {};
  // The adapter leaves no empty object behind: one that stands there is another hand's.
  const anothers = present !== undefined && Object.keys(present).length === 0 && (await history.madeTenant(tenant_id));
  put(values, held(config, change).key, change.value);
  put<unknown>(config.values, tenant_id, values);
  if (present === undefined) return [tenantRecord(tenant_id, true)];
  return anothers ? [tenantRecord(tenant_id, false)] : [];
}

async function restore(
  config: Config,
  change: Change,
  key: string,
  previous: Previous,
  history: History,
): Promise<void> {
  const { tenant_id } = change;
  const now = held(config, change);
  const values = tenantValues(config, tenant_id) ?? {};
  if (previous.present) {
    put(values, now.present ? now.key : key, previous.value);
    put<unknown>(config.values, tenant_id, values);
    return;
  }
  delete values[now.key];
  if (Object.keys(values).length === 0 && (await history.madeTenant(tenant_id))) delete config.values[tenant_id];
}
