/** The newest records of a sequence in memory: what follows a log reads each of them just after it has become durable. */
import type { Version } from "../../lib/store/engine/view.ts";
import type { ListOptions } from "../../lib/store/store.ts";

/** The last records of a sequence; it answers what lies wholly within them, and `undefined` to anything else. */
export interface Tail {
  get(id: string): Version | undefined;
  page(options: ListOptions<boolean>): Version[] | undefined;
  /** Takes the record that follows; one that takes the place of another is taken as such. */
  push(version: Version): void;
}

const ID = /^\d{16}$/;

/** The tail of a sequence that has so many records already; `most` are kept. */
export function newTail(size: number, most: number): Tail {
  const ring = new Array<Version>(most);
  let first = size + 1;
  let last = size;
  const holds = (number: number): boolean => number >= first && number <= last;
  const at = (number: number): Version => ring[number % most]!;

  return {
    get(id) {
      return ID.test(id) && holds(Number(id)) ? at(Number(id)) : undefined;
    },
    page({ after, limit, reverse = false, prefix = "" }) {
      if (prefix !== "" || (after !== undefined && !ID.test(after))) return undefined;
      const begin = reverse ? Math.min(last, Number(after ?? last + 1) - 1) : Number(after ?? 0) + 1;
      const end = reverse ? Math.max(1, begin - limit + 1) : Math.min(last, begin + limit - 1);
      const count = reverse ? begin - end + 1 : end - begin + 1;
      if (count > 0 && !(holds(begin) && holds(end))) return undefined;
      return Array.from({ length: Math.max(0, count) }, (_, index) => at(reverse ? begin - index : begin + index));
    },
    push(version) {
      const number = Number(version.id);
      if (number > last) first = Math.max(first, (last = number) - most + 1);
      if (holds(number)) ring[number % most] = version;
    },
  };
}
