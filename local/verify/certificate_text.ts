/** What a certificate says, as lines for people. */
import type { CertificateReport, Step } from "./certificate.ts";
import { noteLine } from "./note.ts";

/** The change, its life, what does not hold, and the verdict last. */
export function certificateText(file: string, report: CertificateReport): string {
  const { change_id, content, digest, origin, checkpoint, steps, findings, remarks } = report;
  return [
    `${file}: ${change_id} in the log ${JSON.stringify(origin)}`,
    `content: ${content}`,
    `digest of the content: ${digest}`,
    ...steps.map(stepText),
    ...findings.map(({ entry, rule, message }) => `${entry === null ? "" : `entry ${entry}: `}${rule}: ${message}`),
    ...(checkpoint ? [`the log had ${checkpoint.length} entries; signed by ${checkpoint.signed_by}`] : []),
    ...(checkpoint?.witnessed_by ?? []).map(({ name, at }) => `seen by the witness ${name} at ${at}`),
    ...remarks,
    verdictOf(report),
  ]
    .map(noteLine)
    .join("\n");
}

const WHAT: Readonly<Record<string, string>> = {
  change_proposed: "proposed",
  change_applied: "applied",
  change_rolled_back: "rolled back",
  emergency_reviewed: "emergency reviewed",
};

function stepText({ entry, at, event, decision, name, authenticated, note, key, manifest_hash }: Step): string {
  const what = [WHAT[event], decision].filter(Boolean).join(", ") || event;
  const how = key === null ? `known by: ${authenticated ?? "nothing"}` : `signed with ${keyText(key, authenticated)}`;
  const said = note ? `, note ${JSON.stringify(note)}` : "";
  return `entry ${entry}, ${at}: ${what}${name === null ? "" : ` by ${name}`} (${how}${said}), under the intent ${manifest_hash}`;
}

/** What a signature shows of a person; never that they understood what they signed. */
const keyText = (key: string, authenticated: string | null): string =>
  authenticated === "signature_unattended"
    ? `${key}, a key that signs by itself`
    : `${key}, its owner present and verified`;

function verdictOf({ verdict, findings }: CertificateReport): string {
  switch (verdict) {
    case "valid":
      return "valid: the entries stand in a log that the policy trusts; what the log says of the change beyond them, such as a later step, this file does not show";
    case "consistent":
      return "consistent: everything fits together; without a policy, nobody vouches for the log";
    case "bad":
      return `bad: ${findings.length} ${findings.length === 1 ? "finding" : "findings"}`;
  }
}
