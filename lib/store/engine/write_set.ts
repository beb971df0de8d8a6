/** The writes of one transaction over the stored records. */
import { type Json, toJson } from "../json.ts";
import {
  type ListOptions,
  MAX_BYTES_PER_DECISION,
  MAX_WRITES_PER_DECISION,
  RevisionConflict,
  type Tx,
} from "../store.ts";
import { requireValidKey } from "./record_key.ts";
import {
  type Awaitable,
  getInnerMap,
  type Key,
  mapAwaitable,
  makeReads,
  type Row,
  type Version,
  type View,
} from "./view.ts";

/** A transaction under way. */
export interface WriteSet {
  readonly tx: Tx;
  /** Ends it, so that nothing more is read or written. */
  end(): void;
  /**
   * Its writes, one a record. Errors: what a put or delete was refused for, even if the decision caught that;
   * `RevisionConflict`; `RangeError` for more than one decision may write.
   */
  writes(): Promise<readonly Version[]>;
}

/** A record that the transaction reads or writes. */
interface Slot extends Key {
  /** True if `before` is known. */
  read: boolean;
  before: Version | undefined;
  /** In order; absent while it is only read. */
  edits: Edit[] | undefined;
}

interface Edit {
  readonly expected: number | undefined;
  readonly isPresumedNew: boolean;
  /** Absent for a delete. */
  readonly json: Json | undefined;
}

/**
 * Begins a transaction over a view. Revisions are not read when something is put: the put is verified against them at the end.
 */
export function writeSet(view: View): WriteSet {
  const slots = new Map<string, Map<string, Slot>>();
  const touched: Slot[] = [];
  let firstError: unknown;
  let ended = false;

  const requireOpen = (): void => {
    if (ended) throw new Error("this transaction has ended: await every read and make every write within the decision");
  };

  const rememberError = (error: unknown): unknown => {
    firstError ??= error;
    return error;
  };

  const getSlot = ({ collection, id }: Key): Slot => {
    const known = getInnerMap(slots, collection);
    let slot = known.get(id);
    if (!slot) known.set(id, (slot = { collection, id, read: false, before: undefined, edits: undefined }));
    return slot;
  };

  /** `value`: absent for a delete. */
  const edit = (key: Key, expected: number | "presumed new" | undefined, value?: { put: unknown }): void => {
    requireOpen();
    try {
      requireValidKey(key);
      const isPresumedNew = expected === "presumed new";
      const revision = isPresumedNew ? undefined : expected;
      const made = {
        expected: revision,
        isPresumedNew,
        json: value && toJson(value.put, `${key.collection}/${key.id}`),
      };
      const slot = getSlot(key);
      if (!slot.edits) touched.push(slot);
      (slot.edits ??= []).push(made);
    } catch (error) {
      throw rememberError(error);
    }
  };

  const takeAsNew = (slot: Slot): void => {
    const [first] = slot.edits ?? [];
    // Not for a delete: that of an absent record writes nothing, so a commit would not notice that the record exists.
    const isPutAsNew = !slot.read && (first?.expected === 0 || first?.isPresumedNew) && first.json !== undefined;
    const known = isPutAsNew ? view.untouched?.(slot) : undefined;
    if (known) Object.assign(slot, { read: true, before: known.found });
  };

  /** The records as they are after their edits. */
  const versions = (requested: readonly Slot[]): Awaitable<readonly (Version | undefined)[]> => {
    requested.forEach(takeAsNew);
    const unread = requested.filter(({ read }) => !read);
    return mapAwaitable(unread.length > 0 ? view.versions(unread) : [], (found) => {
      unread.forEach((slot, index) => {
        slot.before = found[index];
        slot.read = true;
      });
      try {
        return requested.map(applyEdits);
      } catch (error) {
        throw rememberError(error);
      }
    });
  };

  /** Versions that the edits of some records result in, without unchanged records. */
  const listWrites = (of: readonly Slot[]): Awaitable<readonly Version[]> =>
    mapAwaitable(versions(of), (after) => after.filter((version, index) => version !== of[index]!.before) as Version[]);

  const reads = makeReads({
    versions(keys) {
      requireOpen();
      return versions(keys.map(getSlot));
    },
    async list(collection, options) {
      requireOpen();
      const own = await listWrites(touched.filter((slot) => slot.collection === collection));
      const versions = new Map(own.map((version) => [version.id, version]));
      return mergeList(versions, options, (below) => view.list(collection, below));
    },
  });

  return {
    tx: {
      ...reads,
      put: (collection, id, value, expected) => edit({ collection, id }, expected, { put: value }),
      delete: (collection, id, expected) => edit({ collection, id }, expected),
    },
    end: () => void (ended = true),
    async writes() {
      if (firstError !== undefined) throw firstError;
      return requireAllowedAmount(await listWrites(touched));
    },
  };
}

/** A record after its edits, one after another; as it was when they change nothing. Errors: `RevisionConflict`. */
function applyEdits({ collection, id, before, edits = [] }: Slot): Version | undefined {
  let version = before;
  for (const { expected, json } of edits) {
    const live = version?.json !== undefined;
    const actual = live ? version!.revision : 0;
    if (expected !== undefined && expected !== actual) throw new RevisionConflict(collection, id, expected, actual);
    if (!json && !live) continue;
    const last = version?.revision ?? 0;
    version = { collection, id, revision: json ? last + 1 : last, json };
  }
  return version;
}

/** Lists a page of `below` with the versions of one collection merged in; rows that they replace do not shorten the page. */
export function mergeList<P extends Awaitable<readonly Row[]>>(
  versions: Pick<ReadonlyMap<string, Version>, "values"> | undefined,
  options: ListOptions<boolean>,
  below: (options: ListOptions<boolean>) => P,
): P {
  const { after, limit, reverse = false, prefix = "" } = options;
  const comesBefore = (a: string, b: string): boolean => (reverse ? a > b : a < b);
  const own: Version[] = [];
  for (const version of versions?.values() ?? [])
    if (version.id.startsWith(prefix) && (after === undefined || comesBefore(after, version.id))) own.push(version);
  const page = below(options);
  if (own.length === 0) return page;
  // Writes of now may have become durable before the page was read.
  const hidden = new Set(own.map(({ id }) => id));

  const over = (rows: readonly Row[]): readonly Row[] => {
    const left = rows.filter(({ id }) => !hidden.has(id));
    const last = left.length < limit ? undefined : left[limit - 1]!.id;
    const added = own.filter(({ id, json }) => json && (last === undefined || comesBefore(id, last)));
    if (added.length === 0) return left.slice(0, limit);
    return [...left, ...added].sort((a, b) => (comesBefore(a.id, b.id) ? -1 : 1)).slice(0, limit);
  };
  return mapAwaitable(page, (rows) => {
    const hides = rows.length === limit && rows.some(({ id }) => hidden.has(id));
    return hides ? mapAwaitable(below({ ...options, limit: limit + own.length }), over) : over(rows);
  }) as P;
}

/** How many bytes of text versions have. */
export const countBytes = (versions: readonly Version[]): number =>
  versions.reduce((sum, { json }) => sum + (json ? countTextBytes(json.text) : 0), 0);

const encoder = new TextEncoder();

/** How many bytes a text has in UTF-8; Node counts them without making them. */
export const countTextBytes = (text: string): number =>
  globalThis.Buffer?.byteLength ? globalThis.Buffer.byteLength(text) : encoder.encode(text).length;

/** The writes, if one decision may make so many. */
function requireAllowedAmount(writes: readonly Version[]): readonly Version[] {
  const remedy = "divide it into several transactions";
  if (writes.length > MAX_WRITES_PER_DECISION)
    throw new RangeError(
      `a decision may write ${MAX_WRITES_PER_DECISION} records, this one writes ${writes.length}: ${remedy}`,
    );
  // A UTF-16 code unit has three bytes in UTF-8 at most.
  if (writes.reduce((sum, { json }) => sum + (json?.text.length ?? 0), 0) * 3 <= MAX_BYTES_PER_DECISION) return writes;
  const bytes = countBytes(writes);
  if (bytes > MAX_BYTES_PER_DECISION)
    throw new RangeError(
      `a decision may write ${MAX_BYTES_PER_DECISION} bytes of JSON, this one writes ${bytes}: ${remedy}`,
    );
  return writes;
}
