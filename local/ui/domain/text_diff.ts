/** Two texts line by line: what went, what came, what stayed. */

/** A line, and on which side it stands. */
export interface DiffLine {
  side: "same" | "before" | "after";
  text: string;
}

/** More than this many lines a side are shown whole, one after the other. */
const COMPARED = 600;

/** The shortest way from one text to the other. */
export function diffLines(before: string, after: string): DiffLine[] {
  const a = before === "" ? [] : before.split("\n");
  const b = after === "" ? [] : after.split("\n");
  const whole = (lines: string[], side: DiffLine["side"]) => lines.map((text): DiffLine => ({ side, text }));
  if (a.length > COMPARED || b.length > COMPARED) return [...whole(a, "before"), ...whole(b, "after")];
  // common[i][j]: how many lines the rests from i and j have in common
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i]![j] = a[i] === b[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ side: "same", text: a[i++]! });
      j++;
    } else if (j >= b.length || (i < a.length && common[i + 1]![j]! >= common[i]![j + 1]!))
      lines.push({ side: "before", text: a[i++]! });
    else lines.push({ side: "after", text: b[j++]! });
  }
  return lines;
}

/** The lines of a patch in the unified format; what stands outside its hunks stays as it is. */
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
