/**
 * The two lengths of a test: `npm test` runs the short one, `npm run test:long` what that leaves out. A test file that
 * imports this has both.
 */

/** Whether this run is the long one. */
export const LONG = process.env["TEST_LENGTH"] === "long";

/** Of cases that try the same thing in other ways: the first so many in the short run, the others in the long one. */
export const dealt = <T>(cases: readonly T[], first: number): T[] =>
  LONG ? cases.slice(first) : cases.slice(0, first);

/** `test` or `describe` in the short run; in the long one what it is given is not there. */
export const inShort = <T extends Function>(declare: T): T => (LONG ? (nothing as unknown as T) : declare);

/** `test` or `describe` in the long run; in the short one what it is given is not there. */
export const inLong = <T extends Function>(declare: T): T => (LONG ? declare : (nothing as unknown as T));

/**
 * The seeds of a test of random histories, `slice` to a test: those of either run, or as `npm run histories` asks for them,
 * `HISTORIES=1-20000`.
 */
export function histories(
  short: [first: number, last: number],
  long: [first: number, last: number],
  slice: number,
): [first: number, last: number][] {
  const asked = process.env["HISTORIES"]?.split("-").map(Number);
  const [first, last] = asked ?? (LONG ? long : short);
  const starts = Array.from({ length: Math.ceil((last! - first! + 1) / slice) }, (_, index) => first! + index * slice);
  return starts.map((start) => [start, Math.min(start + slice - 1, last!)]);
}

const nothing = Object.assign(() => undefined, { each: () => () => undefined, for: () => () => undefined });
