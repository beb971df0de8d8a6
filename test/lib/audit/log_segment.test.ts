/** Queries of the log index return the same entries as a filter over all entries. */
import { expect, test } from "vitest";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { createLogIndex } from "../../../lib/audit/log_index.ts";
import type { SubjectQuery } from "../../../lib/audit/log_segment.ts";
import { seededIntegers } from "../../support/seeded_integers.ts";

const ENTRIES = 9000;

/** A subject is a number for something that an entry is about; its lowest bit is a flag, the others identify the subject. */
const FLAG = 1;
const ALL_BUT_FLAG = ~FLAG >>> 0;

test("the index of the log finds the entries of a subject, or with the flag, in any range", () => {
  const randomBelow = seededIntegers(7);
  // There are so few subjects (40 groups with the same high bits) that most occur often, and enough that a segment lacks some.
  const randomSubject = (): number =>
    ((randomBelow(40) << 20) | (randomBelow(3) << 1) | (randomBelow(50) === 0 ? FLAG : 0)) >>> 0;
  /** Subjects of each entry: the first belongs to column 0, the others to column 1. */
  const subjects = Array.from({ length: ENTRIES }, (_, id) => [
    // 700 of 1,000 entries in a row have the same subject, so that some blocks lack all others.
    id % 1000 < 700 ? 2 : randomSubject(),
    randomBelow(2) === 0 ? 0 : randomSubject(),
    ...(randomBelow(20) === 0 ? [randomSubject(), randomSubject()] : []),
  ]);
  const logIndex = createLogIndex({ length: 0, head: "0" }, ({ detail }) => subjects[Number(detail)]!);
  for (let id = 1; id < ENTRIES; id++) {
    const entry = { id, detail: String(id), previous_hash: String(id - 1), current_hash: String(id) };
    expect(logIndex.append(entry as AuditEntry)).toBe(true);
  }
  const subjectsInColumn = (id: number, column: 0 | 1): number[] =>
    column === 0 ? subjects[id]!.slice(0, 1) : subjects[id]!.slice(1);
  const filterEntries = ({ column, mask, bits }: SubjectQuery, last: number, after: number): number[] =>
    [...subjects.keys()]
      .filter((id) => id > after && id <= last)
      .filter((id) => subjectsInColumn(id, column).some((subject) => ((subject ^ bits) & mask) === 0))
      .reverse();
  for (let round = 0; round < 300; round++) {
    const column = randomBelow(2) as 0 | 1;
    const candidates = subjectsInColumn(randomBelow(ENTRIES), column);
    const bits = (candidates[randomBelow(candidates.length)]! & ALL_BUT_FLAG) >>> 0;
    // 0 is no subject: such a round queries the entries with the flag instead.
    const query: SubjectQuery =
      bits === 0 ? { column: 0, mask: FLAG, bits: FLAG } : { column, mask: ALL_BUT_FLAG, bits };
    const [after, last] = [randomBelow(ENTRIES), randomBelow(ENTRIES)].sort((a, b) => a - b) as [number, number];
    expect([...logIndex.find(query, last, after)]).toEqual(filterEntries(query, last, after));
  }
});
