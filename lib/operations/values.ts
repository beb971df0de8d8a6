/** Reads the value that each target should have, with the change that set it, verified against the log. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import { type Snapshot, readProjection } from "../projections/snapshot.ts";
import { tenantPrefix, valueKey, values, type ValueSource } from "../projections/values.ts";
import { listLaterOwners, readVerifiedChanges, type VerifiedChange } from "../changes/ledger/read_changes.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { readRecords } from "../changes/records.ts";
import { type ChangeEntry, listEntries } from "../changes/rules/list_entries.ts";
import { findApplied } from "../changes/rules/record.ts";
import { type TargetKey, isSameTarget } from "../changes/rules/target_key.ts";
import { changeSchema, KINDS } from "../changes/rules/change.ts";
import type { Exposure } from "../rollout/exposure.ts";
import { canRead } from "../changes/rules/reader.ts";
import { findExposure, isRollingOut } from "../changes/rules/rollout_state.ts";
import { decodeBase64Url, toBase64Url } from "../kit/base64.ts";
import { invalidField } from "../kit/errors.ts";
import { listMatchingIds } from "../find/change_index.ts";
import { gather, PAGE_BYTES } from "../kit/gather.ts";
import { runWithScanLimit } from "../kit/semaphore.ts";
import { countTextBytes } from "../store/engine/write_set.ts";

/** The tenant whose values apply to every tenant without its own. */
export const EVERY_TENANT = "*";

/** A target with its value, or with the reason why none is returned. */
export const valueSchema = once(() => {
  const from = {
    tenant_id: z.string().describe("Its tenant; `*`: all without their own value."),
    target: z.string().describe("Its target, as first spelled."),
    change_id: z.string().describe("The change that set it."),
    entry: z.number().int().describe("Entry of its apply."),
    applied_at: z.iso.datetime().describe("When it was applied."),
  };
  return z.discriminatedUnion("state", [
    z.object({
      ...from,
      state: z.literal("governed").describe("Consented to and applied, by the log."),
      value: z.unknown().describe("The value, any JSON."),
      exposure: z
        .unknown()
        .optional()
        .describe("In a rollout: `share` of 10,000, by `unit` and `salt`; `step`, `since`."),
      before: z.unknown().optional().describe("Value of everybody else, in the same form; null: none."),
      kind: z.enum(KINDS).describe("Kind of the change."),
      digest: changeSchema().shape.digest.describe("SHA-256 of the content consented to."),
    }),
    z.object({
      ...from,
      state: z.literal("withheld").describe("Its change does not match the log, or was erased."),
      problem: z.string().describe("Why, for people."),
    }),
  ]);
});
export type Value = z.infer<ReturnType<typeof valueSchema>>;

/** A value that was consented to and applied. */
export type GovernedValue = Extract<Value, { state: "governed" }>;

/** A target whose value is not returned. */
export type WithheldValue = Pick<Extract<Value, { state: "withheld" }>, "state" | "tenant_id" | "target" | "problem">;

/** Withholds the value of a target for which the log has a value and the store has none. */
export const withholdMissing = (target: TargetKey): WithheldValue => ({
  ...target,
  state: "withheld",
  problem: NOT_OWNER,
});

/** Returns the share of a rollout that has the value. */
export const readExposure = ({ exposure }: GovernedValue): Exposure | undefined => exposure as Exposure | undefined;

/** Returns the value of users outside the share of a rollout; null if there was none. */
export const readControl = ({ before }: GovernedValue): Value | null => (before ?? null) as Value | null;

/** Filters and position of a page of values. */
export interface ValueQuery {
  tenant_id?: string | undefined;
  target?: string | undefined;
  limit: number;
  after?: string | undefined;
}

/** Values of a log as of an entry. */
export interface ValuePage {
  values: Value[];
  /** The `after` of the next page. */
  next: string | null;
  as_of: number;
  behind: number;
}

const MAX_SCANNED_PER_PAGE = 5000;
/** Number of values whose changes are verified together. */
const VALUES_PER_BATCH = 100;
const MAX_TRIES = 3;

/**
 * Reads a page of values by tenant and target. It ends with the value that reaches 1 MiB, and with a target but no tenant after
 * 5,000 scanned values.
 */
export const readValuePage = (deps: ChangesDeps, { tenant_id, target, limit, after }: ValueQuery): Promise<ValuePage> =>
  runWithStableValues(deps, async (read, readValues) => {
    const position = { as_of: read.as_of, behind: read.behind };
    if (deps.reader)
      return { ...(await readOwnPage(deps, read, readValues, { tenant_id, target, limit, after })), ...position };
    if (tenant_id !== undefined && target !== undefined) {
      const key = valueKey(tenant_id, target);
      const stored = await read.get("values", key);
      return { values: stored ? await readValues([{ key, source: stored.value }]) : [], next: null, ...position };
    }
    const prefix = tenant_id === undefined ? "" : tenantPrefix(tenant_id);
    // A key is the tenant, a line break, and the target in lower case.
    const isMatching = ({ id }: { id: string }) => target === undefined || id.endsWith(`\n${target.toLowerCase()}`);
    const begin = after === undefined ? prefix : parsePosition(after);
    const gatherPage = () =>
      gather({
        limit,
        maxScanned: target === undefined ? limit : MAX_SCANNED_PER_PAGE,
        isWanted: ({ value }) => value !== undefined,
        async read(last: Row | undefined, count: number): Promise<Row[]> {
          const rows = await read.list("values", { prefix, after: last?.key ?? begin, limit: count });
          const matching = rows.filter(isMatching);
          const matchingValues = await readValues(matching.map(({ id, value }) => ({ key: id, source: value })));
          return rows.map((row) => {
            const value = matchingValues[matching.indexOf(row)];
            return { key: row.id, value, size: value ? countTextBytes(JSON.stringify(value)) : 0 };
          });
        },
      });
    const { rows, last, ended } = await (target === undefined
      ? gatherPage()
      : runWithScanLimit(deps.store, gatherPage));
    const next = ended || !last ? null : toBase64Url(new TextEncoder().encode(last.key));
    return { values: rows.map(({ value }) => value!), next, ...position };
  });

/** Reads a page of the values that the reader's own changes set. */
async function readOwnPage(
  deps: ChangesDeps,
  read: Snapshot<null>,
  readValues: ReadValues,
  { tenant_id, target, limit, after }: ValueQuery,
): Promise<Pick<ValuePage, "values" | "next">> {
  const begin = after === undefined ? "" : parsePosition(after);
  const ownIds = new Set(await listMatchingIds(deps, ({ status }) => status === "applied"));
  const records = await readRecords(deps.store, [...ownIds]);
  const entries = records.flatMap((record) => (record ? listEntries(record.change) : []));
  const keys = [...new Set(entries.map((entry) => valueKey(entry.tenant_id, entry.target)))].sort();
  const stored = await read.getMany("values", keys);
  const sources = keys.flatMap((key, index): Source[] => {
    const source = stored[index]?.value;
    const isWanted =
      (tenant_id === undefined || key.startsWith(tenantPrefix(tenant_id))) &&
      (target === undefined || key.endsWith(`\n${target.toLowerCase()}`));
    return source && ownIds.has(source.change_id) && isWanted && key > begin ? [{ key, source }] : [];
  });
  const page: Value[] = [];
  // Values are verified in batches, until the page has its number of values or reaches its size.
  for (let bytes = 0; page.length < Math.min(limit, sources.length) && bytes < PAGE_BYTES;)
    for (const value of await readValues(sources.slice(page.length, Math.min(page.length + VALUES_PER_BATCH, limit))))
      if (bytes < PAGE_BYTES) {
        page.push(value);
        bytes += countTextBytes(JSON.stringify(value));
      }
  const last = page.length < sources.length ? sources[page.length - 1] : undefined;
  return { values: page, next: last ? toBase64Url(new TextEncoder().encode(last.key)) : null };
}

interface Row {
  key: string;
  value: Value | undefined;
  size: number;
}

function parsePosition(after: string): string {
  const bytes = decodeBase64Url(after);
  if (!bytes) throw invalidField("after", "must be the next of a page");
  return new TextDecoder().decode(bytes);
}

/** The stored source of a value, and its key. */
interface Source {
  key: string;
  source: ValueSource;
}

/** Reads the values of sources, in the same order. */
export type ReadValues = (sources: readonly Source[]) => Promise<Value[]>;

/** Returns true if the log has a value of a target and the store has none. */
export type IsMissing = (target: TargetKey) => Promise<boolean>;

/** A change was applied or rolled back between the read of the values and the read of their changes. */
class ValuesMoved extends Error {}

/** Runs a read of values, up to three times if a change moves a value meanwhile; the last run withholds such a value. */
export async function runWithStableValues<T>(
  deps: ChangesDeps,
  run: (read: Snapshot<null>, readValues: ReadValues, isMissing: IsMissing) => Promise<T>,
  tries = MAX_TRIES,
): Promise<T> {
  const read = await readProjection(deps, values);
  // While the projection is behind the log, differences are expected, and another run would find them again.
  const mayHaveMoved = tries > 1 && read.behind === 0;
  const isMissing: IsMissing = async (target) => {
    const isSetByLog = await isSetByChange(deps, target);
    if (isSetByLog && mayHaveMoved) throw new ValuesMoved();
    return isSetByLog;
  };
  try {
    const readValues: ReadValues = async (sources) => {
      const verified = await readVerifiedChanges(
        deps,
        sources.map(({ source }) => source.change_id),
      );
      const results = await Promise.all(
        sources.map((source, index) => readValueInRollout({ deps, read }, source, verified[index]!)),
      );
      if (mayHaveMoved && results.includes(MOVED)) throw new ValuesMoved();
      return results.map((value, index) => (value === MOVED ? withholdValue(sources[index]!, NOT_OWNER) : value));
    };
    return await run(read, readValues, isMissing);
  } catch (error) {
    if (error instanceof ValuesMoved) return runWithStableValues(deps, run, tries - 1);
    throw error;
  }
}

/** Result for a value that a change has moved meanwhile. */
const MOVED = Symbol("moved");
/** Explains that the log has another value than the stored one. */
const NOT_OWNER =
  "by the log, another change sets this target, or none does: the stored values are behind the log, or were edited";

/** Problem of a value whose content was erased. */
export const ERASED_PROBLEM = "its content was erased";

/** Reads a value; during a rollout also the value before it. */
async function readValueInRollout(
  { deps, read }: { deps: ChangesDeps; read: Snapshot<null> },
  source: Source,
  verified: VerifiedChange,
): Promise<Value | typeof MOVED> {
  const value = await readValue(deps, source, verified);
  if (value === MOVED || value.state === "withheld" || !value.exposure) return value;
  const earlier = await findEarlierSource(read, source);
  if (!earlier) return { ...value, before: null };
  const [earlierChange] = await readVerifiedChanges(deps, [earlier.source.change_id]);
  if (deps.reader && !("change" in earlierChange! && canRead(deps.reader, earlierChange.change)))
    return { ...value, before: withholdUnreadable(earlier) };
  const before = await readValue(deps, earlier, earlierChange!, value.change_id);
  return before === MOVED ? MOVED : { ...value, before };
}

/** Finds the source of the value that a target had before a change. */
async function findEarlierSource(read: Snapshot<null>, { key, source }: Source): Promise<Source | undefined> {
  // The values of a target, newest first; one of the two may be the change's own.
  const rows = await read.list("values_order", { prefix: `${key}\n`, limit: 2, reverse: true });
  const earlier = rows.find(({ value }) => value.change_id !== source.change_id);
  return earlier && { key, source: earlier.value };
}

/** Reads the value of a verified change; `laterChange` may have set the target after it. */
async function readValue(
  deps: ChangesDeps,
  valueSource: Source,
  verified: VerifiedChange,
  laterChange?: string,
): Promise<Value | typeof MOVED> {
  if ("problem" in verified) return withholdValue(valueSource, verified.problem);
  const { change, applied } = verified;
  const { change_id, kind, digest, status, erased } = change;
  const set = listEntries(change).find(
    (planEntry) => valueKey(planEntry.tenant_id, planEntry.target) === valueSource.key,
  );
  const { entry } = valueSource.source;
  if (erased) return withholdValue(valueSource, ERASED_PROBLEM);
  if (status !== "applied" || applied?.entry !== entry || !set) return MOVED;
  const { rolled_back_at, target_spelling = set.target } = findApplied({ applied }, set) ?? {};
  if (rolled_back_at !== undefined) return MOVED;
  const { tenant_id, value } = set;
  if (value === undefined) return withholdValue(valueSource, "the change sets no value");
  // A later change that sets no value leaves the target to this one.
  const laterIds = (await listLaterOwners(deps, set, valueSource.source))?.filter((id) => id !== laterChange);
  if (!laterIds) return withholdValue(valueSource, "an entry about its target is not the one that the log had");
  const later = laterIds.length === 0 ? [] : await readVerifiedChanges(deps, laterIds);
  if (later.some((other) => "problem" in other || setsTarget(other.change, set))) return MOVED;
  const exposure = isRollingOut(change) ? findExposure(change) : undefined;
  return {
    tenant_id,
    target: target_spelling,
    change_id,
    entry,
    applied_at: applied.at,
    state: "governed",
    value,
    kind,
    digest,
    ...(exposure && { exposure }),
  };
}

/** Returns true for a change that sets a value of a target. */
const setsTarget = (change: ChangeEntry, target: TargetKey): boolean =>
  listEntries(change).some((entry) => entry.value !== undefined && isSameTarget(entry, target));

/** Returns true if an applied change sets the target, as far as this process has read the log, or if that cannot be verified. */
async function isSetByChange(deps: ChangesDeps, target: TargetKey): Promise<boolean> {
  const owners = await listLaterOwners(deps, target, { change_id: "", entry: 0 });
  if (!owners) return true;
  const verified = owners.length === 0 ? [] : await readVerifiedChanges(deps, owners);
  return verified.some(
    (owner) => "problem" in owner || (setsTarget(owner.change, target) && owner.change.status === "applied"),
  );
}

/** Withholds the value of a change that the reader may not see. */
function withholdUnreadable({ key }: Source): object {
  const [tenant_id, target] = key.split("\n");
  return { tenant_id, target, state: "withheld", problem: "it is of a change that this agent may not read" };
}

/** Withholds a value; its tenant and target come from its key, since its record is not trusted. */
function withholdValue({ key, source }: Source, problem: string): Value {
  const [tenant_id = "", target = ""] = key.split("\n");
  return { tenant_id, target, ...source, state: "withheld", problem };
}
