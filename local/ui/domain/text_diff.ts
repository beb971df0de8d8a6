/** Two texts line by line with the words that differ, and the lines of a patch. */
import { diffArrays, diffWordsWithSpace } from "diff";

/** Start and end, in a line, of words that the other side's line does not have. */
type Range = readonly [start: number, end: number];

/** A line of one side, or of both. */
export interface DiffLine {
  side: "same" | "before" | "after";
  text: string;
  changed?: readonly Range[];
}

/** Lines that are shown, or unchanged lines that are folded. */
export interface Block {
  folded: boolean;
  lines: readonly DiffLine[];
}

/** Texts that differ in more lines are shown one after the other: comparing them would take seconds. */
const MAX_CHANGED_LINES = 1000;
/** Lines that differ in more words are not compared word by word. */
const MAX_CHANGED_WORDS = 500;
/** Unchanged lines that are shown on either side of a change. */
const CONTEXT = 3;
/** A smaller gap is not folded: the button would need as much room. */
const MIN_FOLDED = 3;

export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [splitLines(before), splitLines(after)];
  const parts = diffArrays(a, b, { maxEditLength: MAX_CHANGED_LINES });
  if (!parts) return [...toLines(a, "before"), ...toLines(b, "after")];
  return parts.flatMap(({ value, removed, added }, index) => {
    const [previous, next] = [parts[index - 1], parts[index + 1]];
    if (removed) return next?.added ? highlightWords(value, next.value, "before") : toLines(value, "before");
    if (added) return previous?.removed ? highlightWords(previous.value, value, "after") : toLines(value, "after");
    return toLines(value, "same");
  });
}

const splitLines = (text: string): string[] => (text === "" ? [] : text.split("\n"));

const toLines = (lines: readonly string[], side: DiffLine["side"]): DiffLine[] => lines.map((text) => ({ side, text }));

/** Highlights the changed words of one side if both sides have equally many lines. */
function highlightWords(before: readonly string[], after: readonly string[], side: "before" | "after"): DiffLine[] {
  const own = side === "before" ? before : after;
  if (before.length !== after.length) return toLines(own, side);
  return own.map((text, index): DiffLine => {
    const changed = findChangedWords(before[index]!, after[index]!, side);
    return changed ? { side, text, changed } : { side, text };
  });
}

function findChangedWords(before: string, after: string, side: "before" | "after"): Range[] | undefined {
  const parts = diffWordsWithSpace(before, after, { maxEditLength: MAX_CHANGED_WORDS });
  // Highlights help only if some words stay.
  if (!parts?.some(({ added, removed, value }) => !added && !removed && /\p{L}|\p{N}/u.test(value))) return undefined;
  let position = 0;
  return parts.flatMap(({ added, removed, value }): Range[] => {
    if (side === "before" ? added : removed) return [];
    position += value.length;
    return added || removed ? [[position - value.length, position]] : [];
  });
}

/** Folds unchanged lines that are more than three lines away from a change. */
export function foldUnchanged(lines: readonly DiffLine[]): Block[] {
  const blocks: Block[] = [];
  let from = 0;
  const push = (to: number, folded: boolean): void => {
    if (to > from) blocks.push({ folded, lines: lines.slice(from, to) });
    from = to;
  };
  for (let at = 0; at < lines.length;) {
    let end = at;
    while (end < lines.length && lines[end]!.side === "same") end++;
    const [first, last] = [at === 0 ? 0 : at + CONTEXT, end === lines.length ? end : end - CONTEXT];
    if (last - first >= MIN_FOLDED) {
      push(first, false);
      push(last, true);
    }
    at = end + 1;
  }
  push(lines.length, false);
  return blocks;
}

/** Returns true for the value of a change that carries a patch. */
export const isPatch = (value: unknown): value is { patch: string } =>
  typeof value === "object" && value !== null && typeof (value as { patch?: unknown }).patch === "string";

/** Reads the lines of a patch in the unified format; lines outside its hunks stay as they are. */
export function patchLines(text: string): DiffLine[] {
  const lines = text.replace(/\n$/, "").split("\n");
  let inHunk = false;
  return lines.map((line, index): DiffLine => {
    if (line.startsWith("--- ") && lines[index + 1]?.startsWith("+++ ")) inHunk = false;
    if (line.startsWith("@@")) inHunk = true;
    else if (inHunk && line.startsWith("-")) return { side: "before", text: line.slice(1) };
    else if (inHunk && line.startsWith("+")) return { side: "after", text: line.slice(1) };
    else if (inHunk && line.startsWith(" ")) return { side: "same", text: line.slice(1) };
    return { side: "same", text: line };
  });
}
