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

const PICTURE = /^!\[(?<told>[^\]\n]*)\]\((?<file>[A-Za-z0-9][A-Za-z0-9._-]*\.svg)\)$/m;

/** The picture that lies beside a report, with what it shows in words; undefined where there is none. */
export function pictureOf(report: string): { file: string; told: string } | undefined {
  const { file, told = "" } = PICTURE.exec(report)?.groups ?? {};
  return file === undefined ? undefined : { file, told };
}
