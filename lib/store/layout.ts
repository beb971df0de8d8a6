/** How the file store lays out the collections, from the schema. */
import { type CollectionSchema, COLLECTIONS } from "./schema.ts";

/** How collections lie in files and are shown in `state.json`. */
export interface Layout {
  /** Blocks of `state.json` and their collections: small and bounded, since they are held in memory and written whole. */
  blocks: Readonly<Record<string, readonly string[]>>;
  /** Records whose fields a block shows as its own: block to `[collection, id]`. */
  embedded: Readonly<Record<string, readonly [collection: string, id: string]>>;
  /** Only ever appended to; ids of 16 digits counting from 1, so that a million of them need no text in memory. */
  sequences: readonly string[];
}

const schemas: readonly [name: string, schema: CollectionSchema][] = Object.entries(COLLECTIONS);
const namesWhere = (isChosen: (schema: CollectionSchema) => boolean): readonly string[] =>
  schemas.flatMap(([name, schema]) => (isChosen(schema) ? [name] : []));

/** The layout of Countersign's own collections. */
export const LAYOUT: Layout = {
  blocks: {
    product_runtime: namesWhere(({ block }) => block === "product_runtime"),
    co_evolution: namesWhere(({ block }) => block === "co_evolution"),
    tasks: namesWhere(({ block }) => block === "tasks"),
  },
  embedded: { product_runtime: ["meta", "identity"] },
  sequences: namesWhere(({ sequence }) => sequence === true),
};
