/** Collects the writes of one transaction, and shows them to its reads. */
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

/** A running transaction. */
export interface WriteSet {
  readonly tx: Tx;
  /** Ends the transaction: later reads and writes throw. */
  end(): void;
  /**
   * Returns the writes, one for each record. Errors: the first error of a put or delete, even if the decision caught it;
   * `RevisionConflict`; `RangeError` for more records or bytes than one decision may write.
   */
  writes(): Promise<readonly Version[]>;
}

/** A record that the transaction reads or writes. */
interface Slot extends Key {
  /** True if `before` is known: it was read, or assumed to be absent. */
  read: boolean;
  before: Version | undefined;
  /** Edits in order; absent while the record is only read. */
  edits: Edit[] | undefined;
}

interface Edit {
  /** Revision that the record must have before the edit; 0: it must not exist; undefined: any. */
  readonly expected: number | undefined;
  readonly isPresumedNew: boolean;
  /** Absent for a delete. */
  readonly json: Json | undefined;
}

/** Begins a transaction over a view. A put reads nothing; its expected revision is verified when the writes are computed. */
export function writeSet(view: View): WriteSet {
  const slots = new Map<string, Map<string, Slot>>();
  const editedSlots: Slot[] = [];
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
    const slotsById = getInnerMap(slots, collection);
    let slot = slotsById.get(id);
    if (!slot) slotsById.set(id, (slot = { collection, id, read: false, before: undefined, edits: undefined }));
    return slot;
  };

  /** `value`: absent for a delete. */
  const edit = (key: Key, expected: number | "presumed new" | undefined, value?: { put: unknown }): void => {
    requireOpen();
    try {
      requireValidKey(key);
      const isPresumedNew = expected === "presumed new";
      const newEdit: Edit = {
        expected: isPresumedNew ? undefined : expected,
        isPresumedNew,
        json: value && toJson(value.put, `${key.collection}/${key.id}`),
      };
      const slot = getSlot(key);
      if (!slot.edits) editedSlots.push(slot);
      (slot.edits ??= []).push(newEdit);
    } catch (error) {
      throw rememberError(error);
    }
  };

  /** Marks a record that was put as new as read, if the engine knows its version without a read. */
  const skipReadIfNew = (slot: Slot): void => {
    const [first] = slot.edits ?? [];
    const isExpectedAbsent = first?.expected === 0 || first?.isPresumedNew;
    // Not for a delete: deleting an absent record writes nothing, so a commit would not notice that the record exists.
    const isPutAsNew = !slot.read && isExpectedAbsent && first?.json !== undefined;
    const absent = isPutAsNew ? view.assumeAbsent?.(slot) : undefined;
    if (absent) Object.assign(slot, { read: true, before: absent.found });
  };

  /** Returns the versions of records after their edits. */
  const versions = (requested: readonly Slot[]): Awaitable<readonly (Version | undefined)[]> => {
    requested.forEach(skipReadIfNew);
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

  /** Returns the versions of edited records, without those that the edits leave unchanged. */
  const listWrites = (edited: readonly Slot[]): Awaitable<readonly Version[]> =>
    mapAwaitable(
      versions(edited),
      (after) => after.filter((version, index) => version !== edited[index]!.before) as Version[],
    );

  const reads = makeReads({
    versions(keys) {
      requireOpen();
      return versions(keys.map(getSlot));
    },
    async list(collection, options) {
      requireOpen();
      const own = await listWrites(editedSlots.filter((slot) => slot.collection === collection));
      const ownById = new Map(own.map((version) => [version.id, version]));
      return mergeList(ownById, options, (storedOptions) => view.list(collection, storedOptions));
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
      return requireWithinLimits(await listWrites(editedSlots));
    },
  };
}

/** Applies the edits of a record in order; returns `before` itself if they change nothing. Errors: `RevisionConflict`. */
function applyEdits({ collection, id, before, edits = [] }: Slot): Version | undefined {
  let version = before;
  for (const { expected, json } of edits) {
    const isLive = version?.json !== undefined;
    const actual = isLive ? version!.revision : 0;
    if (expected !== undefined && expected !== actual) throw new RevisionConflict(collection, id, expected, actual);
    if (!json && !isLive) continue;
    // A delete keeps the revision, so that a later put of the same id gets a higher one.
    const last = version?.revision ?? 0;
    version = { collection, id, revision: json ? last + 1 : last, json };
  }
  return version;
}

/**
 * Lists a page of a collection with unsaved versions merged in. `listStored` lists stored rows; it is called again for more rows
 * where replaced ones would shorten the page.
 */
export function mergeList<P extends Awaitable<readonly Row[]>>(
  versions: Pick<ReadonlyMap<string, Version>, "values"> | undefined,
  options: ListOptions<boolean>,
  listStored: (options: ListOptions<boolean>) => P,
): P {
  const { after, limit, reverse = false, prefix = "" } = options;
  const comesBefore = (a: string, b: string): boolean => (reverse ? a > b : a < b);
  const own: Version[] = [];
  for (const version of versions?.values() ?? [])
    if (version.id.startsWith(prefix) && (after === undefined || comesBefore(after, version.id))) own.push(version);
  const page = listStored(options);
  if (own.length === 0) return page;
  const replacedIds = new Set(own.map(({ id }) => id));

  const merge = (rows: readonly Row[]): readonly Row[] => {
    const unreplaced = rows.filter(({ id }) => !replacedIds.has(id));
    const last = unreplaced.length < limit ? undefined : unreplaced[limit - 1]!.id;
    const added = own.filter(({ id, json }) => json && (last === undefined || comesBefore(id, last)));
    if (added.length === 0) return unreplaced.slice(0, limit);
    return [...unreplaced, ...added].sort((a, b) => (comesBefore(a.id, b.id) ? -1 : 1)).slice(0, limit);
  };
  return mapAwaitable(page, (rows) => {
    const needsMoreRows = rows.length === limit && rows.some(({ id }) => replacedIds.has(id));
    return needsMoreRows ? mapAwaitable(listStored({ ...options, limit: limit + own.length }), merge) : merge(rows);
  }) as P;
}

/** Counts the bytes of the JSON text of versions. */
export const countBytes = (versions: readonly Version[]): number =>
  versions.reduce((sum, { json }) => sum + (json ? countTextBytes(json.text) : 0), 0);

const encoder = new TextEncoder();

/** Counts the bytes of a text in UTF-8; Node does so without encoding the text. */
export const countTextBytes = (text: string): number =>
  globalThis.Buffer?.byteLength ? globalThis.Buffer.byteLength(text) : encoder.encode(text).length;

/** Returns the writes. Errors: `RangeError` for more records or bytes than one decision may write. */
function requireWithinLimits(writes: readonly Version[]): readonly Version[] {
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
