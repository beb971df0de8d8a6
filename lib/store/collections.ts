/** Which collections and records stores treat in a way of their own. What is named nowhere here is a record like any other. */

/** How collections are kept on file and shown in `state.json`. */
export interface Layout {
  /** Blocks of `state.json` and their collections: small and bounded, since they are held in memory and written whole. */
  blocks: Readonly<Record<string, readonly string[]>>;
  /** Records whose fields a block shows as its own: block to `[collection, id]`. */
  embedded: Readonly<Record<string, readonly [collection: string, id: string]>>;
  /** Only ever appended to; ids of 16 digits counting from 1, so that a million of them need no text in memory. */
  sequences: readonly string[];
}

/** The layout of Countersign's own collections. */
export const LAYOUT: Layout = {
  blocks: {
    product_runtime: ["meta", "kpi", "counts", "leases"],
    co_evolution: ["co_evolution", "peers"],
    tasks: ["tally", "tasks_open"],
  },
  embedded: { product_runtime: ["meta", "identity"] },
  sequences: ["audit"],
};

/** The id of the record with this number in a sequence. */
export const sequenceId = (number: number): string => String(number).padStart(16, "0");

/** The record that every governed decision reads, and writes anew: the chain's head. */
export const HEAD_RECORD = { collection: "meta", id: "chain" } as const;
