import { expect, test } from "vitest";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { createLogIndex } from "../../../lib/audit/log_index.ts";
import type { SubjectQuery } from "../../../lib/audit/log_segment.ts";
import { seededIntegers } from "../../support/seeded_integers.ts";

const ENTRIES = 9000;

test("the index of a segment finds the entries of a change at any position", () => {
  const below = seededIntegers(7);
  // Each of the 40 high-bit groups has many subjects, and each segment lacks some.
  const subject = (): number => ((below(40) << 20) | (below(3) << 1) | (below(50) === 0 ? 1 : 0)) >>> 0;
  const about = Array.from({ length: ENTRIES }, (_, id) => [
    id % 1000 < 700 ? 2 : subject(),
    below(2) === 0 ? 0 : subject(),
    ...(below(20) === 0 ? [subject(), subject()] : []),
  ]);
  const logIndex = createLogIndex({ length: 0, head: "0" }, ({ detail }) => about[Number(detail)]!);
  for (let id = 1; id < ENTRIES; id++) {
    const entry = { id, detail: String(id), previous_hash: String(id - 1), current_hash: String(id) };
    expect(logIndex.append(entry as AuditEntry)).toBe(true);
  }
  const kind = (id: number, which: 0 | 1): number[] => (which === 0 ? about[id]!.slice(0, 1) : about[id]!.slice(1));
  const expected = ({ column: which, mask, bits }: SubjectQuery, from: number, to: number): number[] =>
    [...about.keys()]
      .filter((id) => id > to && id <= from && kind(id, which).some((one) => ((one ^ bits) & mask) === 0))
      .reverse();
  for (let round = 0; round < 300; round++) {
    const which = below(2) as 0 | 1;
    const some = kind(below(ENTRIES), which);
    const bits = (some[below(some.length)]! & ~1) >>> 0;
    const query: SubjectQuery = bits === 0 ? { column: 0, mask: 1, bits: 1 } : { column: which, mask: ~1 >>> 0, bits };
    const ends = [below(ENTRIES), below(ENTRIES)].sort((a, b) => a - b) as [number, number];
    expect([...logIndex.find(query, ends[1], ends[0])]).toEqual(expected(query, ends[1], ends[0]));
  }
});
