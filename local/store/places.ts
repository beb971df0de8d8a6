/** Maps from ids to places that hold a million in little memory: no object a record. */
import { sequenceId } from "../../lib/store/collections.ts";
import { behindPrefix } from "../../lib/store/engine/sorted_map.ts";
import type { ListOptions } from "../../lib/store/store.ts";

/** Places by id, in order of ids. `set` and `delete` give the place that was there. */
export interface Places {
  readonly size: number;
  get(id: string): number | undefined;
  set(id: string, place: number): number | undefined;
  delete(id: string): number | undefined;
  page(range: ListOptions<boolean>): [id: string, place: number][];
  /** The next few behind an id, or the first; `undefined` when there are none. */
  run(after: string | undefined): Run | undefined;
  /** Takes such a run in, behind all that is there. */
  append(run: Run): void;
  /**
   * Shows places as they are kept, some thousands, those behind `from` on, or the first: they may be written to. Gives where to
   * go on; `undefined` at the end. What comes and goes between two calls makes it show some twice, and pass over none that stays.
   */
  sweep(from: string | undefined, visit: (places: number[] | Float64Array) => void): string | undefined;
}

/** Some ids in order, as one text, and their places: a million are few objects for the collector of garbage. */
export interface Run {
  text: string;
  /** End of each id in the text; empty for a sequence, where the text is the last id. */
  ends: number[];
  places: number[];
}

/** The ids of a run. */
export const listIds = ({ text, ends }: Pick<Run, "text" | "ends">): string[] =>
  ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));

/** A run of some ids. */
export function makeRun(ids: readonly string[], places: number[]): Run {
  let end = 0;
  return { text: ids.join(""), ends: ids.map((id) => (end += id.length)), places };
}

/** A run that ids come to and go from. */
interface Block extends Run {
  first: string;
}

const MOST_IDS = 64;
const SWEPT_BLOCKS = 128;

const idAt = ({ text, ends }: Run, index: number): string => text.slice(ends[index - 1] ?? 0, ends[index]);

/** The lowest number from 0 to `count` that `reached` says yes to, as it does to all above it. */
export function lowest(count: number, reached: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (reached(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Puts an id into a block in place of `count` others, which are one or none. */
function splice(block: Block, rank: number, count: number, id?: string, place?: number): void {
  const { text, ends, places } = block;
  const start = ends[rank - 1] ?? 0;
  const end = count === 0 ? start : ends[rank]!;
  block.text = text.slice(0, start) + (id ?? "") + text.slice(end);
  const grown = (id?.length ?? 0) - (end - start);
  ends.splice(rank, count, ...(id === undefined ? [] : [start]));
  places.splice(rank, count, ...(place === undefined ? [] : [place]));
  for (let index = rank; index < ends.length; index++)
    ends[index]! += index === rank && id !== undefined ? id.length : grown;
  block.first = block.text.slice(0, ends[0]);
}

/** An empty map for ids of any kind. */
export function sortedPlaces(): Places {
  const blocks: Block[] = [];
  let size = 0;
  let last = "";

  /** The block in which an id lies or would lie; -1 before the first. */
  const blockOf = (id: string): number => lowest(blocks.length, (index) => blocks[index]!.first > id) - 1;
  const rankOf = (block: Block, id: string): number => lowest(block.places.length, (index) => idAt(block, index) >= id);
  const insertBlock = (at: number, ids: string[], places: number[]): void =>
    void blocks.splice(at, 0, { first: ids[0]!, ...makeRun(ids, places) });

  /** Ids that rise with time leave full blocks behind, and none of their text is looked at. */
  const push = (id: string, place: number): void => {
    const block = blocks.at(-1);
    last = id;
    if (!block || block.places.length >= MOST_IDS) return insertBlock(blocks.length, [id], [place]);
    block.ends.push(block.text.length + id.length);
    block.text += id;
    block.places.push(place);
  };

  const insert = (id: string, place: number): void => {
    const at = Math.max(0, blockOf(id));
    const block = blocks[at]!;
    splice(block, rankOf(block, id), 0, id, place);
    if (block.places.length <= MOST_IDS) return;
    const ids = listIds(block);
    insertBlock(at + 1, ids.slice(MOST_IDS / 2), block.places.slice(MOST_IDS / 2));
    Object.assign(block, makeRun(ids.slice(0, MOST_IDS / 2), block.places.slice(0, MOST_IDS / 2)));
  };

  /** The block and the index within it of an id that is there. */
  const find = (id: string): [block: Block, rank: number, at: number] | undefined => {
    const at = blockOf(id);
    if (at < 0) return undefined;
    const block = blocks[at]!;
    const rank = rankOf(block, id);
    return rank < block.places.length && idAt(block, rank) === id ? [block, rank, at] : undefined;
  };

  return {
    get size() {
      return size;
    },
    get(id) {
      const found = find(id);
      return found && found[0].places[found[1]];
    },
    set(id, place) {
      const found = id > last ? undefined : find(id);
      if (!found) {
        size++;
        return void (id > last ? push(id, place) : insert(id, place));
      }
      const [{ places }, rank] = found;
      const before = places[rank];
      places[rank] = place;
      return before;
    },
    delete(id) {
      const found = find(id);
      if (!found) return undefined;
      const [block, rank, at] = found;
      const before = block.places[rank];
      size--;
      if (block.places.length === 1) blocks.splice(at, 1);
      else splice(block, rank, 1);
      if (id === last) last = blocks.length === 0 ? "" : idAt(blocks.at(-1)!, blocks.at(-1)!.places.length - 1);
      return before;
    },
    page({ after, limit, reverse = false, prefix = "" }) {
      const found: [string, number][] = [];
      const behind = behindPrefix(prefix);
      const step = reverse ? -1 : 1;
      const from = reverse ? lower(after, behind) : after !== undefined && after >= prefix ? after : prefix;
      let at = from === undefined ? blocks.length - 1 : Math.max(0, blockOf(from));
      let block = blocks[at];
      let rank = block ? (from === undefined ? block.places.length - 1 : rankOf(block, from) - (reverse ? 1 : 0)) : 0;
      while (block && found.length < limit) {
        if (rank < 0 || rank >= block.places.length) {
          block = blocks[(at += step)];
          rank = reverse && block ? block.places.length - 1 : 0;
          continue;
        }
        const id = idAt(block, rank);
        if (id !== after) {
          if (!id.startsWith(prefix)) break;
          found.push([id, block.places[rank]!]);
        }
        rank += step;
      }
      return found;
    },
    run(after) {
      const at = after === undefined ? 0 : Math.max(0, blockOf(after));
      for (const block of blocks.slice(at, at + 2)) {
        const { places } = block;
        const from = after === undefined ? 0 : lowest(places.length, (index) => idAt(block, index) > after);
        if (from < places.length) return from === 0 ? block : makeRun(listIds(block).slice(from), places.slice(from));
      }
      return undefined;
    },
    append({ text, ends, places }) {
      blocks.push({ first: text.slice(0, ends[0]), text, ends, places });
      size += places.length;
      last = text.slice(ends.at(-2) ?? 0);
    },
    sweep(from, visit) {
      const at = from === undefined ? 0 : Math.max(0, blockOf(from));
      const end = at + SWEPT_BLOCKS;
      for (const { places } of blocks.slice(at, end)) visit(places);
      return blocks[end]?.first;
    },
  };
}

const lower = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b < a) ? b : a;

const CHUNK = 2 ** 14;
const SEQUENCE_ID = /^\d{16}$/;

/**
 * Places of records that are only appended, whose ids count up from 1: eight bytes each. `set` takes the next id, or one
 * that is there; nothing is ever deleted.
 */
export function sequencePlaces(): Places {
  const chunks: Float64Array[] = [];
  let size = 0;

  const numberOf = (id: string): number => {
    const number = Number(id);
    return number >= 1 && number <= size && sequenceId(number) === id ? number : 0;
  };
  const push = (place: number): undefined => {
    (chunks[Math.floor(size / CHUNK)] ??= new Float64Array(CHUNK))[size % CHUNK] = place;
    size++;
  };
  const placeAt = (index: number): number => chunks[Math.floor(index / CHUNK)]![index % CHUNK]!;

  return {
    get size() {
      return size;
    },
    get(id) {
      const number = numberOf(id);
      return number === 0 ? undefined : placeAt(number - 1);
    },
    set(id, place) {
      const number = numberOf(id);
      if (number === 0 && id !== sequenceId(size + 1)) throw new Error(`${id} does not follow ${sequenceId(size)}`);
      if (number === 0) return push(place);
      const before = placeAt(number - 1);
      chunks[Math.floor((number - 1) / CHUNK)]![(number - 1) % CHUNK] = place;
      return before;
    },
    delete(id) {
      if (numberOf(id) === 0) return undefined;
      throw new Error(`${id} is in a sequence, of which nothing is deleted`);
    },
    page({ after, limit, reverse = false, prefix = "" }) {
      const behind = behindPrefix(prefix);
      /** How many ids come before a text, itself counted when `inclusive`. */
      const before = (text: string, inclusive = false): number =>
        SEQUENCE_ID.test(text)
          ? Math.min(size, Math.max(0, Number(text) - (inclusive ? 0 : 1)))
          : lowest(size, (index) => (inclusive ? sequenceId(index + 1) > text : sequenceId(index + 1) >= text));
      const first = prefix === "" ? 0 : before(prefix);
      const last = (behind === undefined ? size : before(behind)) - 1;
      let index = reverse ? last : first;
      if (after !== undefined)
        index = reverse ? Math.min(last, before(after) - 1) : Math.max(first, before(after, true));
      const found: [string, number][] = [];
      for (; index >= first && index <= last && found.length < limit; index += reverse ? -1 : 1)
        found.push([sequenceId(index + 1), placeAt(index)]);
      return found;
    },
    run(after) {
      const from = after === undefined ? 0 : Number(after);
      if (from >= size) return undefined;
      const end = Math.min(size, (Math.floor(from / CHUNK) + 1) * CHUNK);
      const places = chunks[Math.floor(from / CHUNK)]!.slice(from % CHUNK, ((end - 1) % CHUNK) + 1);
      return { text: sequenceId(end), ends: [], places: [...places] };
    },
    append({ places }) {
      for (const place of places) push(place);
    },
    sweep(from, visit) {
      const chunk = from === undefined ? 0 : Math.floor((Number(from) - 1) / CHUNK);
      const next = (chunk + 1) * CHUNK;
      if (size > chunk * CHUNK) visit(chunks[chunk]!.subarray(0, size - chunk * CHUNK));
      return next < size ? sequenceId(next + 1) : undefined;
    },
  };
}
