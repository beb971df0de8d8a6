/** Reports, as the service writes them. */

const WORDED =
  /^(?<title># .*\n\n)## Worded by `(?<by>llm:[^`\n]*)`, unverified\n\n(?<words>(?:>.*\n)+)\n## From the records\n\n/;

/** What a model said of it, unmarked, and by which; null where none did. The facts are the service's own. */
export function partsOf(report: string): { by: string; words: string | null; facts: string } {
  const { title = "", by = "", words } = WORDED.exec(report)?.groups ?? {};
  if (words === undefined) return { by, words: null, facts: report };
  return {
    by,
    words: words
      .replace(/^> ?/gm, "")
      .replace(/\\([\\<[])/g, "$1")
      .trimEnd(),
    facts: title + report.replace(WORDED, ""),
  };
}
