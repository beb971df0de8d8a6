/**
 * The lengths of a test: `npm test` runs the short one, `npm run test:long` what that leaves out. A test file that imports
 * this has both. `npm run test:full` is the long run with every round of the loops over random inputs and fault positions.
 */

/** True in the long run. */
export const LONG = process.env["TEST_LENGTH"] === "long";

/** True in a run with every round. */
export const FULL = process.env["TEST_ROUNDS"] === "full";

/** Rounds of a loop in the short run, in the long run and in the full one. */
export const rounds = <T>(short: T, long: T, full: T): T => (FULL ? full : LONG ? long : short);

/** Returns the first cases of a series for the short run, and the others for the long one. */
export const dealt = <T>(cases: readonly T[], first: number): T[] =>
  LONG ? cases.slice(first) : cases.slice(0, first);

/** `test` or `describe` in the short run; in the long one what it is given is not there. */
export const inShort = <T extends Function>(declare: T): T => (LONG ? (nothing as unknown as T) : declare);

/** `test` or `describe` in the long run; in the short one what it is given is not there. */
export const inLong = <T extends Function>(declare: T): T => (LONG ? declare : (nothing as unknown as T));

/** `test` or `describe` in the full run; in a shorter one what it is given is not there. */
export const inFull = <T extends Function>(declare: T): T => (FULL ? declare : (nothing as unknown as T));

/** The first and the last seed of a range. */
type Seeds = [first: number, last: number];

/** The seeds of a test of random histories, `slice` to a test: those of the run, or of `HISTORIES=1-20000` (`npm run histories`). */
export function histories(short: Seeds, long: Seeds, full: Seeds, slice: number): Seeds[] {
  const requested = process.env["HISTORIES"]?.split("-").map(Number);
  const [first, last] = requested ?? rounds(short, long, full);
  const starts = Array.from({ length: Math.ceil((last! - first! + 1) / slice) }, (_, index) => first! + index * slice);
  return starts.map((start) => [start, Math.min(start + slice - 1, last!)]);
}

const nothing = Object.assign(() => undefined, { each: () => () => undefined, for: () => () => undefined });
