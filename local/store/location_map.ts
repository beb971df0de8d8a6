/** Maps from ids to locations that need little memory for a million records: no object for each record. */
import { sequenceId } from "../../lib/store/collections.ts";
import { findPrefixEnd } from "../../lib/store/engine/sorted_map.ts";
import type { ListOptions } from "../../lib/store/store.ts";

/** Locations by id, in order of ids. `set` and `delete` return the former location. */
export interface LocationMap {
  readonly size: number;
  get(id: string): number | undefined;
  set(id: string, location: number): number | undefined;
  delete(id: string): number | undefined;
  page(range: ListOptions<boolean>): [id: string, location: number][];
  /** Returns the next records after an id, or the first ones; undefined when there are none. */
  nextBatch(after: string | undefined): IdBatch | undefined;
  /** Appends a batch after all records. */
  append(batch: IdBatch): void;
  /**
   * Visits some thousand locations from `from` on, in arrays that the visitor may change. Returns the id to continue at, undefined
   * at the end. A change between two calls can make it visit a location twice; it never skips a location that stays in the map.
   */
  visitSome(from: string | undefined, visit: (locations: number[] | Float64Array) => void): string | undefined;
}

/** Some ids in order, joined to one text, and their locations: few objects for the garbage collector. */
export interface IdBatch {
  text: string;
  /** End of each id in the text; empty for a sequence, where the text is the last id. */
  ends: number[];
  locations: number[];
}

/** Lists the ids of a batch. */
export const listIds = ({ text, ends }: Pick<IdBatch, "text" | "ends">): string[] =>
  ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));

/** Creates a batch of ids. */
export function makeBatch(ids: readonly string[], locations: number[]): IdBatch {
  let end = 0;
  return { text: ids.join(""), ends: ids.map((id) => (end += id.length)), locations };
}

/** A batch that changes. */
interface Block extends IdBatch {
  /** Its first id, by which blocks are found. */
  first: string;
}

const MAX_BLOCK_IDS = 64;
const VISITED_BLOCKS = 128;

const idAt = ({ text, ends }: IdBatch, index: number): string => text.slice(ends[index - 1] ?? 0, ends[index]);

/** Finds by bisection the lowest number from 0 to `count` for which `isReached` is true; it must be true for all above. */
export function findLowest(count: number, isReached: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isReached(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Replaces `count` ids of a block (0 or 1) by an id, or removes them. */
function splice(block: Block, rank: number, count: number, id?: string, location?: number): void {
  const { text, ends, locations } = block;
  const start = ends[rank - 1] ?? 0;
  const end = count === 0 ? start : ends[rank]!;
  block.text = text.slice(0, start) + (id ?? "") + text.slice(end);
  const addedLength = (id?.length ?? 0) - (end - start);
  ends.splice(rank, count, ...(id === undefined ? [] : [start]));
  locations.splice(rank, count, ...(location === undefined ? [] : [location]));
  // The end of an added id is `start` until this loop adds its length.
  for (let index = rank; index < ends.length; index++)
    ends[index]! += index === rank && id !== undefined ? id.length : addedLength;
  block.first = block.text.slice(0, ends[0]);
}

/** Creates an empty map for ids of any kind. */
export function createLocationMap(): LocationMap {
  const blocks: Block[] = [];
  let size = 0;
  /** The highest id; empty in an empty map. */
  let last = "";

  /** Returns the index of the block for an id; -1 before the first. */
  const findBlock = (id: string): number => findLowest(blocks.length, (index) => blocks[index]!.first > id) - 1;
  const findRank = (block: Block, id: string): number =>
    findLowest(block.locations.length, (index) => idAt(block, index) >= id);
  const insertBlock = (at: number, ids: string[], locations: number[]): void =>
    void blocks.splice(at, 0, { first: ids[0]!, ...makeBatch(ids, locations) });

  /** Appends the highest id; ascending ids fill blocks completely. */
  const push = (id: string, location: number): void => {
    const block = blocks.at(-1);
    last = id;
    if (!block || block.locations.length >= MAX_BLOCK_IDS) return insertBlock(blocks.length, [id], [location]);
    block.ends.push(block.text.length + id.length);
    block.text += id;
    block.locations.push(location);
  };

  const insert = (id: string, location: number): void => {
    const at = Math.max(0, findBlock(id));
    const block = blocks[at]!;
    splice(block, findRank(block, id), 0, id, location);
    if (block.locations.length <= MAX_BLOCK_IDS) return;
    const ids = listIds(block);
    insertBlock(at + 1, ids.slice(MAX_BLOCK_IDS / 2), block.locations.slice(MAX_BLOCK_IDS / 2));
    Object.assign(block, makeBatch(ids.slice(0, MAX_BLOCK_IDS / 2), block.locations.slice(0, MAX_BLOCK_IDS / 2)));
  };

  /** Finds the block of an id, its index in that block (`rank`), and the index of the block (`at`). */
  const findEntry = (id: string): { block: Block; rank: number; at: number } | undefined => {
    const at = findBlock(id);
    if (at < 0) return undefined;
    const block = blocks[at]!;
    const rank = findRank(block, id);
    return rank < block.locations.length && idAt(block, rank) === id ? { block, rank, at } : undefined;
  };

  return {
    get size() {
      return size;
    },
    get(id) {
      const entry = findEntry(id);
      return entry && entry.block.locations[entry.rank];
    },
    set(id, location) {
      const entry = id > last ? undefined : findEntry(id);
      if (!entry) {
        size++;
        return void (id > last ? push(id, location) : insert(id, location));
      }
      const {
        block: { locations },
        rank,
      } = entry;
      const former = locations[rank];
      locations[rank] = location;
      return former;
    },
    delete(id) {
      const entry = findEntry(id);
      if (!entry) return undefined;
      const { block, rank, at } = entry;
      const former = block.locations[rank];
      size--;
      if (block.locations.length === 1) blocks.splice(at, 1);
      else splice(block, rank, 1);
      if (id === last) last = blocks.length === 0 ? "" : idAt(blocks.at(-1)!, blocks.at(-1)!.locations.length - 1);
      return former;
    },
    page({ after, limit, reverse = false, prefix = "" }) {
      const entries: [string, number][] = [];
      const step = reverse ? -1 : 1;
      // Forward, the page begins at `after` or the prefix, whichever is later; in reverse, below `after` or the prefix's end, or,
      // without both, at the last id.
      const forwardStart = after !== undefined && after >= prefix ? after : prefix;
      const from = reverse ? minDefined(after, findPrefixEnd(prefix)) : forwardStart;
      let at = from === undefined ? blocks.length - 1 : Math.max(0, findBlock(from));
      let block = blocks[at];
      let rank = 0;
      if (block) rank = from === undefined ? block.locations.length - 1 : findRank(block, from) - (reverse ? 1 : 0);
      while (block && entries.length < limit) {
        // The page continues in the next block, or the one before.
        if (rank < 0 || rank >= block.locations.length) {
          block = blocks[(at += step)];
          rank = reverse && block ? block.locations.length - 1 : 0;
          continue;
        }
        const id = idAt(block, rank);
        if (id !== after) {
          if (!id.startsWith(prefix)) break;
          entries.push([id, block.locations[rank]!]);
        }
        rank += step;
      }
      return entries;
    },
    nextBatch(after) {
      const at = after === undefined ? 0 : Math.max(0, findBlock(after));
      // If `after` is the last id of its block, the next batch is the block after it.
      for (const block of blocks.slice(at, at + 2)) {
        const { locations } = block;
        const from = after === undefined ? 0 : findLowest(locations.length, (index) => idAt(block, index) > after);
        if (from < locations.length)
          return from === 0 ? block : makeBatch(listIds(block).slice(from), locations.slice(from));
      }
      return undefined;
    },
    append({ text, ends, locations }) {
      blocks.push({ first: text.slice(0, ends[0]), text, ends, locations });
      size += locations.length;
      last = text.slice(ends.at(-2) ?? 0);
    },
    visitSome(from, visit) {
      const at = from === undefined ? 0 : Math.max(0, findBlock(from));
      const end = at + VISITED_BLOCKS;
      for (const { locations } of blocks.slice(at, end)) visit(locations);
      return blocks[end]?.first;
    },
  };
}

const minDefined = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b < a) ? b : a;

const CHUNK_LENGTH = 2 ** 14;
const SEQUENCE_ID = /^\d{16}$/;

/**
 * Creates a map for records of a sequence, whose ids count up from 1: eight bytes each. `set` takes the next id or an existing one;
 * nothing is ever deleted.
 */
export function createSequenceMap(): LocationMap {
  const chunks: Float64Array[] = [];
  let size = 0;

  const parseSequenceId = (id: string): number => {
    const number = Number(id);
    return number >= 1 && number <= size && sequenceId(number) === id ? number : 0;
  };
  const push = (location: number): undefined => {
    (chunks[Math.floor(size / CHUNK_LENGTH)] ??= new Float64Array(CHUNK_LENGTH))[size % CHUNK_LENGTH] = location;
    size++;
  };
  const locationAt = (index: number): number => chunks[Math.floor(index / CHUNK_LENGTH)]![index % CHUNK_LENGTH]!;

  return {
    get size() {
      return size;
    },
    get(id) {
      const number = parseSequenceId(id);
      return number === 0 ? undefined : locationAt(number - 1);
    },
    set(id, location) {
      const number = parseSequenceId(id);
      if (number === 0 && id !== sequenceId(size + 1)) throw new Error(`${id} does not follow ${sequenceId(size)}`);
      if (number === 0) return push(location);
      const former = locationAt(number - 1);
      chunks[Math.floor((number - 1) / CHUNK_LENGTH)]![(number - 1) % CHUNK_LENGTH] = location;
      return former;
    },
    delete(id) {
      if (parseSequenceId(id) === 0) return undefined;
      throw new Error(`${id} is in a sequence, of which nothing is deleted`);
    },
    page({ after, limit, reverse = false, prefix = "" }) {
      const prefixEnd = findPrefixEnd(prefix);
      /** Counts the ids before a text; `inclusive`: also an equal one. */
      const countBefore = (text: string, inclusive = false): number =>
        SEQUENCE_ID.test(text)
          ? Math.min(size, Math.max(0, Number(text) - (inclusive ? 0 : 1)))
          : findLowest(size, (index) => (inclusive ? sequenceId(index + 1) > text : sequenceId(index + 1) >= text));
      const first = prefix === "" ? 0 : countBefore(prefix);
      const last = (prefixEnd === undefined ? size : countBefore(prefixEnd)) - 1;
      let index = reverse ? last : first;
      if (after !== undefined)
        index = reverse ? Math.min(last, countBefore(after) - 1) : Math.max(first, countBefore(after, true));
      const entries: [string, number][] = [];
      for (; index >= first && index <= last && entries.length < limit; index += reverse ? -1 : 1)
        entries.push([sequenceId(index + 1), locationAt(index)]);
      return entries;
    },
    nextBatch(after) {
      const from = after === undefined ? 0 : Number(after);
      if (from >= size) return undefined;
      const end = Math.min(size, (Math.floor(from / CHUNK_LENGTH) + 1) * CHUNK_LENGTH);
      const locations = chunks[Math.floor(from / CHUNK_LENGTH)]!.slice(
        from % CHUNK_LENGTH,
        ((end - 1) % CHUNK_LENGTH) + 1,
      );
      return { text: sequenceId(end), ends: [], locations: [...locations] };
    },
    append({ locations }) {
      for (const location of locations) push(location);
    },
    visitSome(from, visit) {
      const chunk = from === undefined ? 0 : Math.floor((Number(from) - 1) / CHUNK_LENGTH);
      const next = (chunk + 1) * CHUNK_LENGTH;
      if (size > chunk * CHUNK_LENGTH) visit(chunks[chunk]!.subarray(0, size - chunk * CHUNK_LENGTH));
      return next < size ? sequenceId(next + 1) : undefined;
    },
  };
}
