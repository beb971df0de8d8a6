/** The writes of one transaction, laid over what the store holds; for stores that are read over a network. */
import { checkList, inner, listOver, type Row, storedOf, textOf, type Version, type Versions } from "./write_set.ts";
import { checkKey } from "./record_key.ts";
import { type ListOptions, RevisionConflict, type Stored, type Tx } from "../store.ts";

/** The name of one record. */
export interface Key {
  readonly collection: string;
  readonly id: string;
}

/** What lies below a transaction: everything accepted before it. Values are the caller's own. */
export interface AsyncView {
  /** The last version of each record, in the order asked for; `undefined` when it never was. */
  versions(keys: readonly Key[]): Promise<(Version | undefined)[]>;
  list(collection: string, options: ListOptions<boolean>): Promise<Row[]>;
}

/** A transaction under way. */
export interface AsyncDraft {
  readonly tx: Tx;
  /** Ends it, so that nothing more is read or written; what it wrote is still open. */
  end(): void;
  /** Its writes; rejects with what a put or delete was refused for, even if the decision caught that. */
  writes(): Promise<Versions>;
}

interface Edit {
  expected: number | undefined;
  /** JSON, absent for a delete. */
  text: string | undefined;
}

/** Begins a transaction over a view. Revisions are not read when something is put: the put is held against them later. */
export function asyncDraft(view: AsyncView): AsyncDraft {
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

  const edit = (collection: string, id: string, expected: number | undefined, text: () => string | undefined): void => {
    mustBeOpen();
    refusing(() => {
      checkKey(collection, id);
      const made = { expected, text: text() };
      const ofRecord = inner(edits, collection);
      ofRecord.set(id, [...(ofRecord.get(id) ?? []), made]);
    });
  };

  /** What the edits of these records come to. */
  const versionsOf = async (keys: readonly Key[]): Promise<Versions> => {
    const before = await view.versions(keys);
    const versions: Versions = new Map();
    for (const [index, key] of keys.entries()) {
      const version = refusing(() => edited(key, before[index], edits.get(key.collection)!.get(key.id)!));
      if (version) inner(versions, key.collection).set(key.id, version);
    }
    return versions;
  };

  const editedIn = (collection: string): Key[] =>
    [...(edits.get(collection)?.keys() ?? [])].map((id) => ({ collection, id }));

  const getMany = async <T>(collection: string, ids: readonly string[]): Promise<(Stored<T> | undefined)[]> => {
    mustBeOpen();
    const own = edits.get(collection);
    const below = await view.versions(ids.map((id) => ({ collection, id })));
    return ids.map((id, index) => {
      const edits = own?.get(id);
      const key = { collection, id };
      const version = edits ? refusing(() => edited(key, below[index], edits)) : below[index];
      return version && storedOf<T>(version);
    });
  };

  const tx: Tx = {
    get: async <T>(collection: string, id: string) => (await getMany<T>(collection, [id]))[0],
    getMany,
    async list<T>(collection: string, options: ListOptions<boolean>) {
      mustBeOpen();
      checkList(options);
      const own = (await versionsOf(editedIn(collection))).get(collection);
      return (await listOverView(view, collection, own, options)) as Stored<T>[];
    },
    put: (collection, id, value, expected) =>
      edit(collection, id, expected, () => textOf(value, `${collection}/${id}`)),
    delete: (collection, id, expected) => edit(collection, id, expected, () => undefined),
  };

  return {
    tx,
    end: () => void (ended = true),
    async writes() {
      if (refusal !== undefined) throw refusal;
      return versionsOf([...edits.keys()].flatMap(editedIn));
    },
  };
}

/** A page of a view, as it reads with the versions of one collection laid over it. */
export async function listOverView(
  view: AsyncView,
  collection: string,
  versions: ReadonlyMap<string, Version> | undefined,
  options: ListOptions<boolean>,
): Promise<Row[]> {
  const covered = options.limit === 0 ? 0 : (versions?.size ?? 0);
  const below = await view.list(collection, { ...options, limit: options.limit + covered });
  return listOver(() => below, versions, options);
}

/** A record after its edits, one after another; `undefined` when they change nothing. Errors: `RevisionConflict`. */
function edited({ collection, id }: Key, before: Version | undefined, edits: readonly Edit[]): Version | undefined {
  let version = before;
  for (const { expected, text } of edits) {
    const live = version?.text !== undefined;
    const actual = live ? version!.revision : 0;
    if (expected !== undefined && expected !== actual) throw new RevisionConflict(collection, id, expected, actual);
    if (text === undefined && !live) continue;
    const last = version?.revision ?? 0;
    version = { collection, id, revision: text === undefined ? last : last + 1, text };
  }
  return version === before ? undefined : version;
}
