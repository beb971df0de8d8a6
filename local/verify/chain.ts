/** Follows the chain line by line, and says where a line does not follow from the one before. */
import { type Entry, hasHashes, parseLine } from "./line.ts";

/** A rule that a line, or the complete log, violates. */
export type Rule =
  | "form"
  | "origin"
  | "id"
  | "previous_hash"
  | "timestamp"
  | "current_hash"
  | "tail_truncation"
  | "full_rewrite"
  | "signature"
  | "cosignature"
  | "proof"
  | "inclusion"
  | "content"
  | "intent"
  | "quorum";

/** Something that does not hold; `line` and `entry` are null where it is about the log as a whole. */
export interface Finding {
  line: number | null;
  entry: number | null;
  rule: Rule;
  message: string;
}

/** How far the chain was followed. Text is one character a byte. */
export interface Chain {
  lines: number;
  origin: string | undefined;
  /** The entry that the next line continues; undefined after a line that could not be read. */
  last: { id: number; hash: string; timestamp: string } | undefined;
  /** The last line's entry; undefined where it is none. */
  entry?: Entry | undefined;
}

const NO_ENTRY = "the line is not an entry in the exact form that the service writes";

/** The chain before its first entry. */
export const beginning = (): Chain => ({
  lines: 0,
  origin: undefined,
  last: { id: 0, hash: "0".repeat(64), timestamp: "" },
});

/** Follows one line. What comes behind a broken line is held to what that line states, so that one fault shows once. */
export function follow(chain: Chain, line: string): Finding | undefined {
  const number = ++chain.lines;
  const entry = parseLine(line);
  const { last } = chain;
  chain.entry = entry;
  if (!entry || !hasHashes(entry)) {
    chain.last = undefined;
    return { line: number, entry: null, rule: "form", message: NO_ENTRY };
  }
  chain.origin ??= entry.origin;
  chain.last = { id: entry.id, hash: entry.currentHash, timestamp: entry.timestamp };
  const broken = whyBroken(entry, chain.origin, last);
  return broken && { line: number, entry: entry.id, rule: broken[0], message: broken[1] };
}

function whyBroken(entry: Entry, origin: string, last: Chain["last"]): [Rule, string] | undefined {
  if (entry.origin !== origin) return ["origin", "the entry belongs to another log than the first one"];
  if (last && entry.id !== last.id + 1) return ["id", `the entry behind ${last.id} should be ${last.id + 1}`];
  if (last && entry.previousHash !== last.hash)
    return ["previous_hash", "it is not the current_hash of the entry before"];
  if (last && entry.timestamp < last.timestamp && entry.eventType !== "clock_accepted")
    return ["timestamp", "it is earlier than that of the entry before"];
  return entry.currentHash === entry.computedHash
    ? undefined
    : ["current_hash", "it does not cover the entry's fields"];
}
