/** The pieces that a question is read into. */
import type { Named } from "./names.ts";
import type { Period } from "./periods.ts";
import type { Sense } from "./senses.ts";

/** A piece of a question, in its order. */
export type Token =
  | { type: "sense"; senses: readonly Sense[]; words: string }
  | { type: "name"; named: Named; words: string; possessive: boolean }
  | { type: "period"; period: Period; isAhead: boolean; words: string }
  | { type: "unknown"; words: string };
