/**
 * Selects the cases of a run: `npm test` is the short run, and `npm run test:long` runs the cases that the short run leaves out.
 * `npm run test:full` is the long run with every round of the loops over random inputs and fault positions.
 */

/** True in the long run. */
export const LONG = process.env["TEST_LENGTH"] === "long";

/** True in a run with every round. */
export const FULL = process.env["TEST_ROUNDS"] === "full";

/** Selects the value for the short, the long or the full run. */
export const rounds = <T>(short: T, long: T, full: T): T => (FULL ? full : LONG ? long : short);

/** Returns the first cases of a series for the short run, and the others for the long one. */
export const selectCases = <T>(cases: readonly T[], first: number): T[] =>
  LONG ? cases.slice(first) : cases.slice(0, first);

/** Returns `test` or `describe` in the short run, and a function that declares nothing in the long run. */
export const inShort = <T extends Function>(declare: T): T => (LONG ? (declareNothing as unknown as T) : declare);

/** Returns `test` or `describe` in the long run, and a function that declares nothing in the short run. */
export const inLong = <T extends Function>(declare: T): T => (LONG ? declare : (declareNothing as unknown as T));

/** Returns `test` or `describe` in the full run, and a function that declares nothing in the other runs. */
export const inFull = <T extends Function>(declare: T): T => (FULL ? declare : (declareNothing as unknown as T));

/** The first and the last seed of a range. */
type Seeds = [first: number, last: number];

/** Returns ranges of `slice` seeds for random histories: those of the run, or of `HISTORIES=1-20000` (`npm run histories`). */
export function histories(short: Seeds, long: Seeds, full: Seeds, slice: number): Seeds[] {
  const requested = process.env["HISTORIES"]?.split("-").map(Number);
  const [first, last] = requested ?? rounds(short, long, full);
  const starts = Array.from({ length: Math.ceil((last! - first! + 1) / slice) }, (_, index) => first! + index * slice);
  return starts.map((start) => [start, Math.min(start + slice - 1, last!)]);
}

const declareNothing = Object.assign(() => undefined, { each: () => () => undefined, for: () => () => undefined });
