/** The names of the files beside a state file. */
import { basename, dirname, join } from "node:path";

/** Where each file of one store lies. */
export interface Paths {
  folder: string;
  /** The snapshot: the state file itself. */
  state: string;
  /** The journal that is being written. */
  journal: string;
  /** A sealed part of the journal, by its number. */
  segment(number: number): string;
  /** What is derived from a sealed part, so that a start need not read it. */
  index(number: number): string;
  /** Where a torn end is set aside. */
  torn(number: number): string;
}

/** The files of the store whose state file is `state`. */
export function pathsOf(state: string): Paths {
  const numbered = (number: number): string => `${state}.journal.${String(number).padStart(6, "0")}`;
  return {
    folder: dirname(state),
    state,
    journal: `${state}.journal.jsonl`,
    segment: (number) => `${numbered(number)}.jsonl`,
    index: (number) => `${numbered(number)}.index`,
    torn: (number) => `${state}.torn-${number}`,
  };
}

/** What a folder holds of one store: the numbers of its sealed segments and torn ends, in order, and leftovers. */
export interface Listing {
  segments: number[];
  torn: number[];
  /** Files written aside whose rename never came. */
  leftovers: string[];
}

/** Sorts the names in a folder by what they are to this store; other files are not looked at. */
export function listingOf(paths: Paths, names: readonly string[]): Listing {
  const own = basename(paths.state);
  const listing: Listing = { segments: [], torn: [], leftovers: [] };
  for (const name of names) {
    if (!name.startsWith(`${own}.`)) continue;
    const rest = name.slice(own.length + 1);
    const segment = /^journal\.(\d{6,})\.jsonl$/.exec(rest);
    const torn = /^torn-(\d+)$/.exec(rest);
    if (segment) listing.segments.push(Number(segment[1]));
    else if (torn) listing.torn.push(Number(torn[1]));
    else if (/^(journal\.(\d{6,}\.)?(jsonl|index)\.)?tmp$/.test(rest)) listing.leftovers.push(join(paths.folder, name));
  }
  listing.segments.sort((a, b) => a - b);
  listing.torn.sort((a, b) => a - b);
  return listing;
}
