import type { Json } from "./json.ts";
import type { StoreFaults } from "./faults.ts";
import type { BulkAccess } from "./bulk_access.ts";

/**
 * All collections, and what a record of each holds. Every room declares its own here, next to the type, so that no read is
 * cast: `declare module "../store/store.ts" { interface Collections { changes: ChangeRecord } }`.
 */
export interface Collections {
  meta: Singles<Meta>;
}

/** The records of the collection `meta`, by id: what there is one of. */
export interface Meta {}

declare const singles: unique symbol;

/** A collection whose records are known by their ids, each of a type of its own. */
export interface Singles<T> {
  readonly [singles]: T;
}

/** The name of a collection. */
export type Collection = keyof Collections & string;

/** Type of the records of a collection. */
export type CollectionRecord<C extends Collection, I extends string = string> =
  Collections[C] extends Singles<infer S> ? (I extends keyof S ? S[I] : S[keyof S]) : Collections[C];

/**
 * One stored record. Its value is frozen, with all in it, and shared by those who read it. `revision` starts at 1, or above
 * what was deleted in its collection before; it rises with every put, and never restarts, not even after a delete.
 */
export interface Stored<T = unknown> {
  id: string;
  revision: number;
  value: T;
}

/** A row of `list`, which can ask for keys only: no value is read for it, and no revision. */
export type Listed<K extends boolean, T> = K extends true ? Pick<Stored, "id"> : Stored<T>;

/**
 * A page of a collection, ordered by id (UTF-16 code units). `after` is exclusive, and with `reverse` counts down; `prefix`
 * is what the ids begin with. `uncached`: read where it is kept, not from a copy in memory, so that damage there shows.
 */
export interface ListOptions<K extends boolean = false> {
  after?: string;
  limit: number;
  reverse?: boolean;
  prefix?: string;
  keysOnly?: K;
  uncached?: boolean;
}

/** A record's JSON text, as it is kept. */
export interface Text {
  id: string;
  text: string;
}

/** Limits of the writes of one decision: records, each put or deleted, and bytes of JSON text. */
export const MAX_WRITES_PER_DECISION = 99;
export const MAX_BYTES_PER_DECISION = 1_000_000;

/** Reads of records. Outside a transaction they show durable data; several records may be a moment apart. */
export interface Reads {
  get<C extends Collection, I extends string>(
    collection: C,
    id: I,
  ): Promise<Stored<CollectionRecord<C, I>> | undefined>;
  /** The records with these ids, in their order, in one round trip. */
  getMany<C extends Collection, I extends string>(
    collection: C,
    ids: readonly I[],
  ): Promise<(Stored<CollectionRecord<C, I>> | undefined)[]>;
  list<C extends Collection, K extends boolean = false>(
    collection: C,
    options: ListOptions<K>,
  ): Promise<Listed<K, CollectionRecord<C>>[]>;
  /** Texts that are returned unparsed: those of a page, or of the records with these ids, those that are there. */
  texts(collection: Collection, which: ListOptions | readonly string[]): Promise<Text[]>;
}

/**
 * Operations of a decision inside one transaction. Reads see this transaction's own writes and every transaction
 * accepted before it. Everything is done within the decision: once it has ended, reads and writes throw.
 */
export interface Tx extends Reads {
  /**
   * Puts a value, or one whose text is made already (`json`). `expected`: the revision the record must have now, 0 for "must
   * not exist"; without it the put is unconditional. `presumed new`: unconditional too, of a record that is most likely
   * absent, so that a shared store does not read it first. An id is well-formed text of 1 to 1,000 bytes in UTF-8.
   */
  put<C extends Collection, I extends string>(
    collection: C,
    id: I,
    value: CollectionRecord<C, I> | Json<CollectionRecord<C, I>>,
    expected?: number | "presumed new",
  ): void;
  delete(collection: Collection, id: string, expected?: number): void;
}

/**
 * Storage of all records. Values are JSON. Reads show only what is durable; `transact` is all or nothing, serialisable
 * and durable before it resolves. `decide` may run more than once, so it has no effects but through `tx`; when it throws,
 * nothing is written and the error is passed on.
 *
 * Errors: `RevisionConflict` when an expected revision does not hold; `TypeError` for what is no id or no JSON, and
 * `RangeError` for more than one decision may write, even if the decision caught it; `StoreUnavailable` when nothing can be
 * written; `StoreBusy` when a shared store stays contended after its tries; `OutcomeUnknown` when the answer to a commit was
 * lost and its result is unknown, so that a caller who repeats the decision may make it twice.
 */
export interface Store extends Reads {
  /** `prefetch` declares reads that the decision surely needs; a store that answers reads at once ignores it. */
  transact<T>(decide: (tx: Tx) => T | Promise<T>, prefetch?: Prefetch): Promise<T>;
  /**
   * A value that changes with each commit of another process, in a request or two, so that a waiting caller reads nothing
   * else; always the same where no other can write. Absent where an engine cannot tell.
   */
  others?(): Promise<string>;
  /** Removes what is kept of records that are superseded or deleted by now; absent where an engine keeps nothing of them. */
  expunge?(): Promise<void>;
  /** Checks what is stored and tries again what failed, once a cycle; absent where an engine does so itself. */
  inspect?(): Promise<void>;
  /** Returns the faults that are known; absent where an engine cannot tell. */
  faults?(): StoreFaults;
  /** Bulk access for backups and moves; absent where an engine cannot be moved. */
  readonly bulk?: BulkAccess | undefined;
  close(): Promise<void>;
}

/**
 * Makes reads that a decision surely needs, which a shared store fetches together with those of all waiting decisions. It has
 * no effects; the decision makes a read again that failed here.
 */
export type Prefetch = (reads: Reads) => Promise<unknown>;

/** A put or delete named a revision that the record does not have. */
export class RevisionConflict extends Error {
  override readonly name = "RevisionConflict";
  constructor(collection: string, id: string, expected: number, actual: number) {
    super(`${collection}/${id}: expected revision ${expected}, found ${actual}`);
  }
}

/** The store cannot write: nothing of the transaction was kept, and reads may go on. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
  /** The reason as strangers may read it: it names no place. */
  readonly shown: string | undefined;
  constructor(message: string, { shown, ...options }: ErrorOptions & { shown?: string | undefined } = {}) {
    super(message, options);
    this.shown = shown;
  }
}

/** The store cannot be read now, which says nothing about what is in it: the same read may succeed later. */
export class StoreUnreadable extends StoreUnavailable {}

/** The log of the store goes on elsewhere, or a move of it is under way. */
export class StoreMoved extends StoreUnavailable {}

/** A record is not what the store wrote. */
export class RecordDamaged extends Error {
  override readonly name: string = "RecordDamaged";
}

/** Returns true where a read found damage, and did not merely fail: text that is no JSON is damage in any store. */
export const isDamage = (error: unknown): boolean => error instanceof RecordDamaged || error instanceof SyntaxError;

/** A shared store stayed contended; nothing was kept, and the same call may be made again later. */
export class StoreBusy extends Error {
  override readonly name = "StoreBusy";
}

/** The engine did not say whether it kept a transaction, and cannot be asked: it may be kept, or not. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}
