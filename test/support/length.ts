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

/** The seeds of a test of random histories: as `npm run histories` asks for them, `HISTORIES=1-20000`, or those of either run. */
export function histories(short: [first: number, last: number], long: [first: number, last: number]) {
  const [, first, last] = /^(\d+)-(\d+)$/.exec(process.env["HISTORIES"] ?? "") ?? [];
  if (first !== undefined) return { first: Number(first), last: Number(last), timeout: 12 * 3_600_000 };
  const [from, to] = LONG ? long : short;
  return { first: from, last: to, timeout: 300_000 };
}

const nothing = Object.assign(() => undefined, { each: () => () => undefined, for: () => () => undefined });
