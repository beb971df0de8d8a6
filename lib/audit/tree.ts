/**
 * The stored Merkle tree. Leaves are not stored, since the entries have their hashes. The store has the roots of complete subtrees
 * of 64 leaves, of 64 × 64 leaves and so on, in tiles of 64 roots, and the frontier to which new leaves are added.
 */
import type { AuditDeps } from "./deps.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import type { Store } from "../store/store.ts";
import { type ChainHead, entryKey, readHead } from "./chain.ts";
import { entryHash, FIRST_PREVIOUS_HASH } from "./entry_hash.ts";
import type { Breach } from "./integrity.ts";
import type { LogEnd } from "./log_index.ts";
import { EMPTY_TREE, type Frontier, leafHash, nodeHash, type NodeReader, appendLeaf } from "./merkle.ts";

declare module "../store/store.ts" {
  interface Collections {
    merkle: Tile;
  }
  interface Meta {
    merkle: StoredTree;
  }
}

const TILE_HEIGHT = 6;
const TILE_WIDTH = 2 ** TILE_HEIGHT;
const ENTRIES_PER_TRANSACTION = 1024;
/** Entries added before yielding to the event loop, within some milliseconds. */
const ENTRIES_PER_TURN = 256;

/** `meta/merkle`: the frontier of the tree. */
interface StoredTree extends Frontier {
  /** `current_hash` of the last entry in the tree. */
  head: string;
}

/** `merkle/<tile>`: the roots of up to 64 neighbouring subtrees, in order. */
type Tile = string[];

/** The log does not continue the entries that were read before. */
export class LogBroken extends Error {
  override readonly name = "LogBroken";
  constructor(readonly breach: Breach) {
    super(breach.reason);
  }
}

/** A part of the stored tree is missing; the tree can be rebuilt from the log. */
export class TreeIncomplete extends Error {
  override readonly name = "TreeIncomplete";
}

/** A tile's record id: its level (1: subtrees of 64 leaves) and its position in the level. */
const tileKey = (level: number, position: number): string => `${level}/${entryKey(position)}`;

/** Extends the stored tree at least to the current end of the log, one transaction for each slice. Errors: `LogBroken`. */
export async function growTree({ store, sha256 }: Pick<AuditDeps, "store" | "sha256">): Promise<Frontier> {
  let end: number | undefined;
  for (;;) {
    // Read the tree before the head: the log may grow between the two reads, and is never shorter than its tree.
    const stored = await store.get("meta", "merkle");
    const head = await readHead(store);
    const tree = stored?.value ?? { ...EMPTY_TREE, head: FIRST_PREVIOUS_HASH };
    if (!head) return tree;
    if (tree.length > head.length)
      throw brokenLogError(head.length + 1, `the log has ${head.length} entries and its tree ${tree.length}`);
    if (tree.length === head.length) {
      if (tree.head !== head.head)
        throw brokenLogError(tree.length, "it is not the entry that the tree was grown from");
      return tree;
    }
    // Entries that are appended during this call are left to the next one, so that concurrent writers cannot prolong it.
    if (tree.length >= (end ??= head.length)) return tree;
    const grown = await growSlice(store, sha256, head, tree);
    await store.transact(async (tx) => {
      // Another process may have stored the same growth first.
      if ((await tx.get("meta", "merkle"))?.revision !== stored?.revision) return;
      tx.put("meta", "merkle", grown.tree);
      for (const [key, tile] of grown.tiles) tx.put("merkle", key, tile);
    });
    await yieldToEventLoop();
  }
}

/** Rebuilds the tree from the first entry, and overwrites its stored tiles. Errors: `LogBroken`. */
export async function rebuildTree(deps: Pick<AuditDeps, "store" | "sha256">): Promise<Frontier> {
  await deps.store.transact((tx) => tx.delete("meta", "merkle"));
  return growTree(deps);
}

/** Creates the error of a log with an invalid entry. */
export const brokenLogError = (first_invalid: number, reason: string): LogBroken =>
  new LogBroken({ first_invalid, reason });

/** Creates the error of a log that is shorter than its known end, or has another entry there. */
export function shortenedLogError(known: LogEnd, head: LogEnd | undefined): LogBroken {
  const { length, head: hash } = head ?? { length: 0, head: FIRST_PREVIOUS_HASH };
  const from = `the log went back from length ${known.length}, head ${known.head}, to length ${length}, head ${hash}`;
  if (length < known.length) return brokenLogError(length + 1, `${from}: its tail was cut or lost`);
  return brokenLogError(Math.max(1, known.length), `${from}: another entry is at ${known.length}`);
}

/** Creates the error of a log in which an entry differs from the one that was read before. */
export const rewrittenLogError = (id: number): LogBroken =>
  brokenLogError(id, "it is not the entry that stood here before: the log was rewritten");

/** Verifies the next slice of entries; returns the tree with them, and the tiles that changed. */
async function growSlice(
  store: Store,
  sha256: AuditDeps["sha256"],
  log: ChainHead,
  from: StoredTree,
): Promise<{ tree: StoredTree; tiles: Map<string, Tile> }> {
  const limit = Math.min(ENTRIES_PER_TRANSACTION, log.length - from.length);
  const slice = await store.list("audit", { after: entryKey(from.length), limit });
  const completed: { level: number; position: number; root: string }[] = [];
  let tree = from;
  for (const { value: entry } of slice) {
    const isNext =
      entry.id === tree.length + 1 &&
      entry.origin === log.origin &&
      entry.previous_hash === tree.head &&
      entry.current_hash === entryHash(entry, sha256);
    if (!isNext) throw brokenLogError(tree.length + 1, "it does not continue the entries that the tree was grown from");
    const grown = appendLeaf(tree, entry.current_hash, sha256, (height, root) => {
      // The entry completes this subtree, so its id is a multiple of the number of leaves.
      if (height > 0 && height % TILE_HEIGHT === 0)
        completed.push({ level: height / TILE_HEIGHT, position: entry.id / 2 ** height - 1, root });
    });
    tree = { ...grown, head: entry.current_hash };
    if (tree.length % ENTRIES_PER_TURN === 0) await yieldToEventLoop();
  }
  if (slice.length < limit) throw brokenLogError(tree.length + 1, "the entry is missing or cannot be read");
  return { tree, tiles: await addRootsToTiles(store, completed) };
}

async function addRootsToTiles(
  store: Store,
  completed: readonly { level: number; position: number; root: string }[],
): Promise<Map<string, Tile>> {
  const tiles = new Map<string, Tile>();
  for (const { level, position, root } of completed) {
    const offset = position % TILE_WIDTH;
    const key = tileKey(level, (position - offset) / TILE_WIDTH);
    const tile = tiles.get(key) ?? (offset === 0 ? [] : [...(await readTile(store, key))]);
    tile[offset] = root;
    tiles.set(key, tile);
  }
  return tiles;
}

async function readTile(store: Pick<Store, "get">, key: string): Promise<Tile> {
  const stored = await store.get("merkle", key);
  if (!stored) throw new TreeIncomplete(`the audit tree's tile ${key} is missing from the store`);
  return stored.value;
}

/** Maximum number of cached tiles, more than a proof needs for a log of any length. */
const MAX_CACHED_TILES = 256;

/** Creates a reader of nodes of the stored tree, which caches tiles. A node costs one list of 64 entries or one record. */
export function createNodeReader({ store, sha256 }: Pick<AuditDeps, "store" | "sha256">): NodeReader {
  const tiles = new Map<string, Promise<Tile>>();
  const loadTile = (level: number, position: number): Promise<Tile> =>
    level === 0 ? readLeafTile(store, sha256, position * TILE_WIDTH) : readTile(store, tileKey(level, position));
  const getTile = (level: number, position: number): Promise<Tile> => {
    const key = tileKey(level, position);
    const tile = tiles.get(key) ?? loadTile(level, position);
    // The most recently used tile goes to the end of the map; the least recently used one is dropped.
    tiles.delete(key);
    tiles.set(key, tile);
    if (tiles.size > MAX_CACHED_TILES) tiles.delete(tiles.keys().next().value!);
    return tile;
  };
  return async (height, index) => {
    const heightInTile = height % TILE_HEIGHT;
    const width = 2 ** heightInTile;
    const first = index * width;
    const offset = first % TILE_WIDTH;
    const hashes = await getTile((height - heightInTile) / TILE_HEIGHT, (first - offset) / TILE_WIDTH);
    const descendants = hashes.slice(offset, offset + width);
    if (descendants.length < width) throw new TreeIncomplete(`the audit tree has no node ${index} of height ${height}`);
    return joinNodes(descendants, sha256);
  };
}

async function readLeafTile(store: Store, sha256: AuditDeps["sha256"], start: number): Promise<Tile> {
  const entries = await store.list("audit", { after: entryKey(start), limit: TILE_WIDTH });
  return entries.map(({ value }) => leafHash(value.current_hash, sha256));
}

/** Computes the root of neighbouring nodes, whose number is a power of two. */
function joinNodes(nodes: readonly string[], sha256: AuditDeps["sha256"]): string {
  if (nodes.length === 1) return nodes[0]!;
  const half = nodes.length / 2;
  return nodeHash(joinNodes(nodes.slice(0, half), sha256), joinNodes(nodes.slice(half), sha256), sha256);
}
