/** Places of records that are only appended, whose ids count up from 1: eight bytes each, and no text. */
import { sequenceId } from "../../lib/store/collections.ts";
import { behindPrefix, type SortedMap } from "../../lib/store/engine/sorted_map.ts";

/** An empty sequence. `set` takes the next id, or one that is there; nothing is ever deleted. */
export function sequence(): SortedMap<number> {
  let places = new Float64Array(1024);
  let size = 0;

  const numberOf = (id: string): number => {
    const number = Number(id);
    return number >= 1 && number <= size && sequenceId(number) === id ? number : 0;
  };

  /** How many ids come before this one, itself counted when `inclusive`. */
  const countBefore = (id: string, inclusive: boolean): number => {
    let low = 0;
    let high = size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const candidate = sequenceId(middle + 1);
      if (candidate < id || (inclusive && candidate === id)) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  return {
    get size() {
      return size;
    },
    get(id) {
      const number = numberOf(id);
      return number === 0 ? undefined : places[number - 1];
    },
    set(id, place) {
      const number = numberOf(id);
      if (number === 0 && id !== sequenceId(size + 1)) throw new Error(`${id} does not follow ${sequenceId(size)}`);
      if (size === places.length) {
        const larger = new Float64Array(Math.ceil(size * 1.5));
        larger.set(places);
        places = larger;
      }
      places[number === 0 ? size++ : number - 1] = place;
    },
    delete(id) {
      throw new Error(`${id} is in a sequence, of which nothing is deleted`);
    },
    page({ after, limit, reverse = false, prefix = "" }) {
      const step = reverse ? -1 : 1;
      const behind = behindPrefix(prefix);
      const first = countBefore(prefix, false);
      const last = (behind === undefined ? size : countBefore(behind, false)) - 1;
      let index = reverse ? last : first;
      if (after !== undefined)
        index = reverse ? Math.min(last, countBefore(after, false) - 1) : Math.max(first, countBefore(after, true));
      const found: [string, number][] = [];
      for (; index >= first && index <= last && found.length < limit; index += step)
        found.push([sequenceId(index + 1), places[index]!]);
      return found;
    },
  };
}
