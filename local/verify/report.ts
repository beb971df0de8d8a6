/** Formats the report on an export for people. */
import type { Contents } from "./contents.ts";
import { lossText } from "./losses.ts";
import { escapeForTerminal } from "./note.ts";
import type { Report } from "./verify.ts";

/** Returns lines: findings first, the verdict last. */
export function reportText(file: string, report: Report): string {
  const { entries, origin, head, findings, findings_total: total } = report;
  return [
    `${file}: ${entries} entries of ${JSON.stringify(origin)}, head ${head}`,
    ...findings.map(({ line, entry, rule, message }) => `${locationText(line, entry)}${rule}: ${message}`),
    ...(total > findings.length ? [`and ${total - findings.length} more`] : []),
    ...report.held_against.map((description) => `verified against ${description}`),
    ...report.witnessed.map(
      ({ name, length, time }) => `cosigned by ${name} up to entry ${length}, at ${time} seconds since 1970`,
    ),
    ...report.losses.map(lossText),
    ...proofLines(report.proofs),
    ...(report.contents ? contentLines(report.contents) : []),
    ...report.remarks,
    verdictLine(report),
  ]
    .map(escapeForTerminal)
    .join("\n");
}

function locationText(line: number | null, entry: number | null): string {
  if (line === null) return "";
  return entry === null ? `line ${line}: ` : `line ${line}, entry ${entry}: `;
}

const proofLines = ({ verified, as_named, not_checked, unsigned }: Report["proofs"]): string[] => [
  ...(verified > 0 ? [`valid signed decisions, with keys that the policy lists: ${verified}`] : []),
  ...(as_named > 0 ? [`valid signed decisions, with keys that only the log lists: ${as_named}`] : []),
  ...(not_checked > 0 ? [`signed decisions not checked, since no policy lists their keys: ${not_checked}`] : []),
  ...(unsigned > 0 ? [`decisions without a signature, by names whose keys the policy lists: ${unsigned}`] : []),
];

const contentLines = ({ changes, intents, unfit, missing, erased, erased_changes }: Contents): string[] => [
  `contents of changes that match their entries: ${changes}`,
  `intents that match their entries: ${intents}`,
  ...(unfit > 0 ? [`contents that do not match: ${unfit}`] : []),
  ...(missing > 0 ? [`contents that are missing: ${missing}`] : []),
  ...erased_changes.map((change) => `erased: ${change}`),
  ...(erased > erased_changes.length ? [`and ${erased - erased_changes.length} more erased`] : []),
];

function verdictLine({ verdict, findings_total: total }: Report): string {
  switch (verdict) {
    case "valid":
      return "valid: every entry is valid, and the log continues what was stored outside";
    case "consistent":
      return "consistent: every entry is valid; without a receipt or checkpoint stored outside, a truncated or rewritten log would go unnoticed";
    case "bad":
      return `bad: ${total} ${total === 1 ? "finding" : "findings"}`;
  }
}
