/**
 * The tree as it is kept. Leaves are not stored again: the entries hold them. What is stored are the roots of the
 * complete subtrees of 64 leaves, of 64 × 64 and so on, 64 to a tile, and the frontier from which the tree grows on.
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
/** Entries between two turns of the event loop: some milliseconds. */
const ENTRIES_PER_TURN = 256;

/** `meta/merkle`: how far the tree has grown. */
interface StoredTree extends Frontier {
  /** `current_hash` of the last entry in it. */
  head: string;
}

/** `merkle/<tile>`: the roots of up to 64 neighbouring subtrees, lowest first. */
type Tile = string[];

/** The log does not continue what was made of it. */
export class LogBroken extends Error {
  override readonly name = "LogBroken";
  constructor(readonly breach: Breach) {
    super(breach.reason);
  }
}

/** A part of the stored tree is missing. The log holds all that it was made from, so it can be rebuilt. */
export class TreeIncomplete extends Error {
  override readonly name = "TreeIncomplete";
}

/** A tile's record id: its level (1: subtrees of 64 leaves) and its place among those of the level. */
const tileKey = (level: number, position: number): string => `${level}/${entryKey(position)}`;

/**
 * Grows the stored tree up to the log's end as it is now at least, in slices, each one transaction; what is grown once is
 * never made again. Errors: `LogBroken`.
 */
export async function growTree({ store, sha256 }: Pick<AuditDeps, "store" | "sha256">): Promise<Frontier> {
  let end: number | undefined;
  for (;;) {
    // The tree first: the log may grow between the two reads, and is never behind its tree.
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
    // Entries written meanwhile are for the next time: to catch up with the writers, each reader would grow the tree.
    if (tree.length >= (end ??= head.length)) return tree;
    const grown = await growSlice(store, sha256, head, tree);
    await store.transact(async (tx) => {
      // Another process may have grown it first; its tree is the same.
      if ((await tx.get("meta", "merkle"))?.revision !== stored?.revision) return;
      tx.put("meta", "merkle", grown.tree);
      for (const [key, tile] of grown.tiles) tx.put("merkle", key, tile);
    });
    await yieldToEventLoop();
  }
}

/** Grows the tree from the first entry again; the parts that lie there are written over. Errors: `LogBroken`. */
export async function rebuildTree(deps: Pick<AuditDeps, "store" | "sha256">): Promise<Frontier> {
  await deps.store.transact((tx) => tx.delete("meta", "merkle"));
  return growTree(deps);
}

/** The error of a log that does not hold at an entry. */
export const brokenLogError = (first_invalid: number, reason: string): LogBroken =>
  new LogBroken({ first_invalid, reason });

/** The error of a log that ends before what was known of it, or holds another entry there. */
export function shortenedLogError(known: LogEnd, head: LogEnd | undefined): LogBroken {
  const { length, head: hash } = head ?? { length: 0, head: FIRST_PREVIOUS_HASH };
  const from = `the log went back from length ${known.length}, head ${known.head}, to length ${length}, head ${hash}`;
  if (length < known.length) return brokenLogError(length + 1, `${from}: its tail was cut or lost`);
  return brokenLogError(Math.max(1, known.length), `${from}: another entry is at ${known.length}`);
}

/** The error of a log in which another entry stood in this place when it was read. */
export const rewrittenLogError = (id: number): LogBroken =>
  brokenLogError(id, "it is not the entry that stood here before: the log was rewritten");

/** The tree over the next slice of entries, each checked as it is taken in, and the tiles that changed. */
async function growSlice(
  store: Store,
  sha256: AuditDeps["sha256"],
  log: ChainHead,
  from: StoredTree,
): Promise<{ tree: StoredTree; tiles: Map<string, Tile> }> {
  const limit = Math.min(ENTRIES_PER_TRANSACTION, log.length - from.length);
  const slice = await store.list("audit", { after: entryKey(from.length), limit });
  const completed: { level: number; place: number; root: string }[] = [];
  let tree = from;
  for (const { value: entry } of slice) {
    const isNext =
      entry.id === tree.length + 1 &&
      entry.origin === log.origin &&
      entry.previous_hash === tree.head &&
      entry.current_hash === entryHash(entry, sha256);
    if (!isNext) throw brokenLogError(tree.length + 1, "it does not continue the entries that the tree was grown from");
    const grown = appendLeaf(tree, entry.current_hash, sha256, (height, root) => {
      if (height > 0 && height % TILE_HEIGHT === 0)
        completed.push({ level: height / TILE_HEIGHT, place: entry.id / 2 ** height - 1, root });
    });
    tree = { ...grown, head: entry.current_hash };
    if (tree.length % ENTRIES_PER_TURN === 0) await yieldToEventLoop();
  }
  if (slice.length < limit) throw brokenLogError(tree.length + 1, "the entry is missing or cannot be read");
  return { tree, tiles: await addRootsToTiles(store, completed) };
}

async function addRootsToTiles(
  store: Store,
  completed: readonly { level: number; place: number; root: string }[],
): Promise<Map<string, Tile>> {
  const tiles = new Map<string, Tile>();
  for (const { level, place: position, root } of completed) {
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

/** Number of tiles that a reader caches: more than one proof needs of a log of any length. */
const MAX_CACHED_TILES = 256;

/** Reads nodes of the stored tree, a tile once for as long as it is held: one list of 64 entries and one record a level. */
export function createNodeReader({ store, sha256 }: Pick<AuditDeps, "store" | "sha256">): NodeReader {
  const tiles = new Map<string, Promise<Tile>>();
  const tile = (level: number, position: number): Promise<Tile> => {
    const key = tileKey(level, position);
    const read =
      tiles.get(key) ?? (level === 0 ? readLeafTile(store, sha256, position * TILE_WIDTH) : readTile(store, key));
    // The last requested tile goes to the end; the first one is dropped.
    tiles.delete(key);
    tiles.set(key, read);
    if (tiles.size > MAX_CACHED_TILES) tiles.delete(tiles.keys().next().value!);
    return read;
  };
  return async (height, index) => {
    const within = height % TILE_HEIGHT;
    const width = 2 ** within;
    const first = index * width;
    const offset = first % TILE_WIDTH;
    const hashes = await tile((height - within) / TILE_HEIGHT, (first - offset) / TILE_WIDTH);
    const under = hashes.slice(offset, offset + width);
    if (under.length < width) throw new TreeIncomplete(`the audit tree has no node ${index} of height ${height}`);
    return joinNodes(under, sha256);
  };
}

async function readLeafTile(store: Store, sha256: AuditDeps["sha256"], start: number): Promise<Tile> {
  const entries = await store.list("audit", { after: entryKey(start), limit: TILE_WIDTH });
  return entries.map(({ value }) => leafHash(value.current_hash, sha256));
}

/** The root over a power of two of neighbouring nodes. */
function joinNodes(nodes: readonly string[], sha256: AuditDeps["sha256"]): string {
  if (nodes.length === 1) return nodes[0]!;
  const half = nodes.length / 2;
  return nodeHash(joinNodes(nodes.slice(0, half), sha256), joinNodes(nodes.slice(half), sha256), sha256);
}
