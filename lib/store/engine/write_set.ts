/** The writes of one transaction, laid over what the store holds. */
import { type Json, jsonOf } from "../json.ts";
import { type ListOptions, MOST_BYTES, MOST_WRITES, RevisionConflict, type Tx } from "../store.ts";
import { checkKey } from "./record_key.ts";
import { each, inner, type Key, readsOf, type Row, type Version, type Versions, type View } from "./view.ts";

/** A transaction under way. */
export interface WriteSet {
  readonly tx: Tx;
  /** Ends it, so that nothing more is read or written. */
  end(): void;
  /**
   * Its writes. Errors: what a put or delete was refused for, even if the decision caught that; `RevisionConflict`;
   * `RangeError` for more than one decision may write.
   */
  writes(): Promise<Versions>;
}

interface Edit {
  readonly expected: number | undefined;
  /** Absent for a delete. */
  readonly json: Json | undefined;
}

/** Begins a transaction over a view. Revisions are not read when something is put: the put is held against them at the end. */
export function writeSet(below: View): WriteSet {
  const read = new Map<string, Map<string, Version | undefined>>();
  const edits = new Map<string, Map<string, Edit[]>>();
  let refusal: unknown;
  let ended = false;

  const mustBeOpen = (): void => {
    if (ended) throw new Error("this transaction has ended: await every read and make every write within the decision");
  };

  const refusing = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      refusal ??= error;
      throw error;
    }
  };

  const edit = (collection: string, id: string, expected: number | undefined, json: () => Json | undefined): void => {
    mustBeOpen();
    refusing(() => {
      checkKey(collection, id);
      const made = { expected, json: json() };
      const ofCollection = inner(edits, collection);
      const before = ofCollection.get(id);
      if (before) before.push(made);
      else ofCollection.set(id, [made]);
    });
  };

  const before = async (keys: readonly Key[]): Promise<(Version | undefined)[]> => {
    const missing = keys.filter(({ collection, id }) => !read.get(collection)?.has(id));
    if (missing.length > 0) {
      const found = await below.versions(missing);
      missing.forEach(({ collection, id }, index) => inner(read, collection).set(id, found[index]));
    }
    return keys.map(({ collection, id }) => read.get(collection)!.get(id));
  };

  const versions = async (keys: readonly Key[]): Promise<(Version | undefined)[]> =>
    (await before(keys)).map((version, index) => {
      const key = keys[index]!;
      const own = edits.get(key.collection)?.get(key.id);
      return own ? refusing(() => edited(key, version, own)) : version;
    });

  /** What the edits come to; what they leave as it was is not among it. */
  const written = async (collections: Iterable<string>): Promise<Versions> => {
    const keys = [...collections].flatMap((collection) =>
      [...(edits.get(collection)?.keys() ?? [])].map((id) => ({ collection, id })),
    );
    const writes: Versions = new Map();
    for (const version of await versions(keys)) {
      if (!version) continue;
      const { collection, id } = version;
      if (read.get(collection)!.get(id) !== version) inner(writes, collection).set(id, version);
    }
    return writes;
  };

  const reads = readsOf({
    versions(keys) {
      mustBeOpen();
      return versions(keys);
    },
    async list(collection, options) {
      mustBeOpen();
      const own = overlay((await written([collection])).get(collection), options);
      return own.over(await below.list(collection, own.below));
    },
  });

  return {
    tx: {
      ...reads,
      put: (collection, id, value, expected) =>
        edit(collection, id, expected, () => jsonOf(value, `${collection}/${id}`)),
      delete: (collection, id, expected) => edit(collection, id, expected, () => undefined),
    },
    end: () => void (ended = true),
    async writes() {
      if (refusal !== undefined) throw refusal;
      const writes = await written(edits.keys());
      checkAmount(writes);
      return writes;
    },
  };
}

/** A record after its edits, one after another; as it was when they change nothing. Errors: `RevisionConflict`. */
function edited({ collection, id }: Key, before: Version | undefined, edits: readonly Edit[]): Version | undefined {
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

/** A page as it reads with versions of its collection laid over it. */
export interface Overlay {
  /** What to list below, so that the page is full whatever they cover. */
  below: ListOptions<boolean>;
  over(page: readonly Row[]): readonly Row[];
}

/** Lays the versions of one collection over a page. */
export function overlay(versions: ReadonlyMap<string, Version> | undefined, options: ListOptions<boolean>): Overlay {
  const { after, limit, reverse = false, prefix = "" } = options;
  const comesBefore = (a: string, b: string): boolean => (reverse ? a > b : a < b);
  const own = [...(versions?.values() ?? [])].filter(
    ({ id }) => id.startsWith(prefix) && (after === undefined || comesBefore(after, id)),
  );
  if (own.length === 0 || limit === 0) return { below: options, over: (page) => page };
  return {
    below: { ...options, limit: limit + own.length },
    over: (page) =>
      [...page.filter(({ id }) => !versions!.has(id)), ...own.filter(({ json }) => json)]
        .sort((a, b) => (comesBefore(a.id, b.id) ? -1 : 1))
        .slice(0, limit),
  };
}

/** How many bytes of text versions have. */
export function bytesOf(versions: Versions): number {
  const texts = each(versions).map(({ json }) => json?.text ?? "");
  return texts.reduce((sum, text) => sum + bytesOfText(text), 0);
}

const encoder = new TextEncoder();

/** How many bytes a text has in UTF-8. */
export const bytesOfText = (text: string): number => encoder.encode(text).length;

function checkAmount(versions: Versions): void {
  const writes = each(versions);
  const remedy = "divide it into several transactions";
  if (writes.length > MOST_WRITES)
    throw new RangeError(`a decision may write ${MOST_WRITES} records, this one writes ${writes.length}: ${remedy}`);
  // A UTF-16 code unit has three bytes in UTF-8 at most.
  if (writes.reduce((sum, { json }) => sum + (json?.text.length ?? 0), 0) * 3 <= MOST_BYTES) return;
  const bytes = bytesOf(versions);
  if (bytes > MOST_BYTES)
    throw new RangeError(`a decision may write ${MOST_BYTES} bytes of JSON, this one writes ${bytes}: ${remedy}`);
}
