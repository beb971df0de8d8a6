/** Short ways to write words of the tables: `apply*` is apply, applies, applied and applying; `~批准` is 没批准, 没有批准 and so on. */

const DENIED = ["没", "没有", "没人", "未", "无人"];

/** The words that an entry of a table stands for. */
export function formsOf(entry: string): string[] {
  if (entry.startsWith("~")) return DENIED.map((not) => not + entry.slice(1));
  const [, verb, rest] = /^(\w+)\*(.*)$/.exec(entry) ?? [];
  return verb === undefined ? [entry] : inflected(verb).map((form) => form + rest!);
}

/** A regular English verb in its forms; of a noun its plural is among them. */
function inflected(verb: string): string[] {
  const stem = /[^e]e$/.test(verb)
    ? verb.slice(0, -1)
    : /^[^aeiou]*[aeiou][bdglmnprt]$/.test(verb)
      ? verb + verb.at(-1)
      : verb;
  const short = /[^aeiou]y$/.test(verb) ? `${verb.slice(0, -1)}i` : undefined;
  return [
    verb,
    short ? `${short}es` : /(?:s|x|z|ch|sh)$/.test(verb) ? `${verb}es` : `${verb}s`,
    `${short ?? stem}ed`,
    `${short ? verb : stem}ing`,
  ];
}
