/** The port of stores: reads, transactions and errors that every store implements. */
import type { Json } from "./json.ts";
import type { StoreFaults } from "./faults.ts";
import type { BulkAccess } from "./bulk_access.ts";

/**
 * The record type of each collection. Each room adds its own collections, so that reads are typed:
 * `declare module "../store/store.ts" { interface Collections { changes: ChangeRecord } }`.
 */
export interface Collections {
  meta: Singles<Meta>;
}

/** The types of the single records in the collection `meta`, by id. */
export interface Meta {}

declare const singles: unique symbol;

/** A collection with fixed ids, in which each record has its own type. */
export interface Singles<T> {
  readonly [singles]: T;
}

/** The name of a collection. */
export type Collection = keyof Collections & string;

/** Type of the records of a collection. */
export type CollectionRecord<C extends Collection, I extends string = string> =
  Collections[C] extends Singles<infer S> ? (I extends keyof S ? S[I] : S[keyof S]) : Collections[C];

/**
 * One stored record. Its value is deeply frozen and shared by all callers. `revision` starts at 1, or above the revisions of
 * records that were deleted in its collection; it rises with every put and never restarts, not even after a delete.
 */
export interface Stored<T = unknown> {
  id: string;
  revision: number;
  value: T;
}

/** A row of `list`; with `keysOnly` it has neither value nor revision. */
export type Listed<K extends boolean, T> = K extends true ? Pick<Stored, "id"> : Stored<T>;

/**
 * A page of a collection, ordered by id (UTF-16 code units), or in descending order with `reverse`. The page starts after the
 * id `after`; all its ids begin with `prefix`. `uncached`: read the stored data and not a copy in memory, to find damage.
 */
export interface ListOptions<K extends boolean = false> {
  after?: string;
  limit: number;
  reverse?: boolean;
  prefix?: string;
  keysOnly?: K;
  uncached?: boolean;
}

/** A record's stored JSON text. */
export interface Text {
  id: string;
  text: string;
}

/** Limits of the writes of one decision: records, each put or deleted, and bytes of JSON text. */
export const MAX_WRITES_PER_DECISION = 99;
export const MAX_BYTES_PER_DECISION = 1_000_000;

/** Reads of records. Outside a transaction they return durable data, and several records need not be of the same commit. */
export interface Reads {
  get<C extends Collection, I extends string>(
    collection: C,
    id: I,
  ): Promise<Stored<CollectionRecord<C, I>> | undefined>;
  /** Reads the records with these ids, in the order of `ids`, in one round trip. */
  getMany<C extends Collection, I extends string>(
    collection: C,
    ids: readonly I[],
  ): Promise<(Stored<CollectionRecord<C, I>> | undefined)[]>;
  list<C extends Collection, K extends boolean = false>(
    collection: C,
    options: ListOptions<K>,
  ): Promise<Listed<K, CollectionRecord<C>>[]>;
  /** Reads the unparsed texts of a page, or of those records with these ids that exist. */
  texts(collection: Collection, which: ListOptions | readonly string[]): Promise<Text[]>;
}

/**
 * Operations of a decision inside one transaction. Reads see this transaction's own writes and every transaction
 * accepted before it. Once the decision has ended, reads and writes throw.
 */
export interface Tx extends Reads {
  /**
   * Puts a value, or a `Json` whose text exists already. `expected`: the revision the record must have now, 0 for "must
   * not exist"; without it the put is unconditional. `presumed new`: unconditional too, for a record that is most likely
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
 * Storage of all records. Values are JSON. Reads return only durable data; `transact` is atomic, serialisable and durable
 * before it resolves. `decide` may run more than once, so its only effects are writes through `tx`; if it throws, nothing is
 * written and the error is passed on.
 *
 * Errors: `RevisionConflict` when a record does not have the expected revision; `TypeError` for an invalid id or value, and
 * `RangeError` for more writes than one decision may make, even if the decision caught the error; `StoreUnavailable` when
 * nothing can be written; `StoreBusy` when a shared store stays contended after its tries; `OutcomeUnknown` when the answer to
 * a commit was lost and its result is unknown, so that repeating the decision may write twice.
 */
export interface Store extends Reads {
  /** `prefetch` declares reads that the decision certainly makes; a store that reads from memory ignores it. */
  transact<T>(decide: (tx: Tx) => T | Promise<T>, prefetch?: Prefetch): Promise<T>;
  /**
   * Reads a value that changes with each commit of another process, so that a waiting caller can poll it cheaply; it is constant
   * if no other process can write. Absent if the engine cannot notice other commits.
   */
  others?(): Promise<string>;
  /** Removes the remains of superseded and deleted records; absent if the engine leaves none. */
  expunge?(): Promise<void>;
  /** Checks the stored data and repeats failed work, once a cycle; absent if the engine needs no such call. */
  inspect?(): Promise<void>;
  /** Returns the known faults; absent if the engine does not detect any. */
  faults?(): StoreFaults;
  /** Bulk access for backups and moves; absent if the store cannot be moved. */
  readonly bulk?: BulkAccess | undefined;
  close(): Promise<void>;
}

/**
 * Makes reads that a decision certainly needs; a shared store fetches them together with those of all waiting decisions. It has
 * no other effects. The decision repeats a read that fails here.
 */
export type Prefetch = (reads: Reads) => Promise<unknown>;

/** A put or delete expected a revision that the record does not have. */
export class RevisionConflict extends Error {
  override readonly name = "RevisionConflict";
  constructor(collection: string, id: string, expected: number, actual: number) {
    super(`${collection}/${id}: expected revision ${expected}, found ${actual}`);
  }
}

/** The store cannot write: nothing of the transaction was stored. Reads may still work. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
  /** The reason for unauthenticated callers, without addresses and paths. */
  readonly shown: string | undefined;
  constructor(message: string, { shown, ...options }: ErrorOptions & { shown?: string | undefined } = {}) {
    super(message, options);
    this.shown = shown;
  }
}

/** The store cannot be read now; the same read may succeed later. */
export class StoreUnreadable extends StoreUnavailable {}

/** The log continues in another store, or a move of the store is running. */
export class StoreMoved extends StoreUnavailable {}

/** A stored record differs from what the store wrote. */
export class RecordDamaged extends Error {
  override readonly name: string = "RecordDamaged";
}

/** Returns whether the error of a read means that stored data is damaged; text that is not JSON is damage in any store. */
export const isDamage = (error: unknown): boolean => error instanceof RecordDamaged || error instanceof SyntaxError;

/** A shared store stayed contended: nothing was stored, and the same call may succeed later. */
export class StoreBusy extends Error {
  override readonly name = "StoreBusy";
}

/** The result of a commit is unknown and cannot be found out: the transaction may be stored or not. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}
