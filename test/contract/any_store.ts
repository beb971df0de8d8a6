/**
 * A store without types: the contract uses collections that the schema does not declare. Every `Store` can be used as an
 * `AnyStore`.
 */
import type { Json } from "../../lib/store/json.ts";
import type { Listed, ListOptions, Stored, Text } from "../../lib/store/store.ts";

// oxlint-disable-next-line no-explicit-any -- each case knows the types of what it put
type Anything = any;

export interface AnyReads {
  get(collection: string, id: string): Promise<Stored<Anything> | undefined>;
  getMany(collection: string, ids: readonly string[]): Promise<(Stored<Anything> | undefined)[]>;
  list<K extends boolean = false>(collection: string, options: ListOptions<K>): Promise<Listed<K, Anything>[]>;
  texts(collection: string, which: ListOptions | readonly string[]): Promise<Text[]>;
}

/** Operations of a decision, without types. */
export interface AnyTx extends AnyReads {
  /** `expected` has the meaning that it has in `Tx.put`. */
  put(collection: string, id: string, value: unknown | Json, expected?: number | "presumed new"): void;
  delete(collection: string, id: string, expected?: number): void;
}

export interface AnyStore extends AnyReads {
  transact<T>(decide: (tx: AnyTx) => T | Promise<T>): Promise<T>;
  close(): Promise<void>;
}
