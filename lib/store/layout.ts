/** The layout of collections in the file store, derived from the schema. */
import { type CollectionSchema, COLLECTIONS } from "./schema.ts";

/** Assignment of collections to files and to blocks of `state.json`. */
export interface Layout {
  /** Blocks of `state.json` and their collections: small and bounded, since a block is kept in memory and written completely. */
  blocks: Readonly<Record<string, readonly string[]>>;
  /** By block, the `[collection, id]` of a record whose fields are shown as fields of the block. */
  embedded: Readonly<Record<string, readonly [collection: string, id: string]>>;
  /** Append-only collections with ids of 16 digits that count from 1, so that a million ids need no text in memory. */
  sequences: readonly string[];
}

const schemas: readonly [name: string, schema: CollectionSchema][] = Object.entries(COLLECTIONS);
const listCollections = (isIncluded: (schema: CollectionSchema) => boolean): readonly string[] =>
  schemas.flatMap(([name, schema]) => (isIncluded(schema) ? [name] : []));

/** The layout of Countersign's own collections. */
export const LAYOUT: Layout = {
  blocks: {
    product_runtime: listCollections(({ block }) => block === "product_runtime"),
    co_evolution: listCollections(({ block }) => block === "co_evolution"),
    tasks: listCollections(({ block }) => block === "tasks"),
  },
  embedded: { product_runtime: ["meta", "identity"] },
  sequences: listCollections(({ sequence }) => sequence === true),
};
