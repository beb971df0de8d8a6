/** Text of a certificate, as lines for people. */
import type { CertificateReport, Step } from "./certificate.ts";
import { shownLine } from "./note.ts";

/** The change, its life, what does not hold, and the verdict last. */
export function certificateText(file: string, report: CertificateReport): string {
  const { change_id, content, erased, digest, origin, checkpoint, steps, findings, remarks } = report;
  return [
    `${file}: ${change_id} in the log ${JSON.stringify(origin)}`,
    `${erased ? "what is left of the content, which was erased" : "content"}: ${content}`,
    `digest of the content: ${digest}`,
    ...steps.map(stepText),
    ...findings.map(({ entry, rule, message }) => `${entry === null ? "" : `entry ${entry}: `}${rule}: ${message}`),
    ...(checkpoint ? [`the log had ${checkpoint.length} entries; signed by ${checkpoint.signed_by}`] : []),
    ...(checkpoint?.witnessed_by ?? []).map(({ name, at }) => `seen by the witness ${name} at ${at}`),
    ...remarks,
    verdictOf(report),
  ]
    .map(shownLine)
    .join("\n");
}

const WHAT: ReadonlyMap<string, string> = new Map([
  ["change_proposed", "proposed"],
  ["change_applied", "applied"],
  ["change_rolled_back", "rolled back"],
  ["value_restored", "value restored"],
  ["emergency_reviewed", "emergency reviewed"],
  ["content_erased", "content erased"],
  ["loss_accepted", "loss of the log's end accepted"],
  ["mandate_signed", "mandate signed"],
  ["mandate_narrowed", "mandate narrowed"],
  ["mandate_suspended", "mandate suspended"],
  ["mandate_resumed", "mandate resumed"],
  ["mandate_ended", "mandate ended"],
]);

function stepText({ entry, at, event, decision, name, authenticated, note, status, key, manifest_hash }: Step): string {
  const what = [WHAT.get(event), decision].filter(Boolean).join(", ") || event;
  const how = key === null ? knownText(authenticated) : `signed with ${keyText(key, authenticated)}`;
  const by = name === null ? "" : ` by ${JSON.stringify(name)}`;
  const then = DECIDING.has(event) ? `, then ${status}` : "";
  const said = note ? `, note ${JSON.stringify(note)}` : "";
  return `entry ${entry}, ${at}: ${what}${by}${then} (${how}${said}), under the intent ${manifest_hash}`;
}

/** After which the change may be this or that. */
const DECIDING: ReadonlySet<string> = new Set(["change_proposed", "consent_decision"]);

/** By whose word the name is the actor's. */
const knownText = (authenticated: string | null): string =>
  authenticated?.startsWith("signature")
    ? "said to be signed, which was not checked"
    : `known by: ${authenticated ?? "nothing"}`;

/** Describes the person behind a signature; never that they understood what they signed. */
const keyText = (key: string, authenticated: string | null): string =>
  authenticated === "signature_unattended"
    ? `${key}, a key that signs by itself`
    : `${key}, its owner present and verified`;

function verdictOf({ verdict, findings }: CertificateReport): string {
  switch (verdict) {
    case "valid":
      return "valid: the entries stand in a log that the policy trusts; what the log says of the change beyond them, such as a later step, this file does not show";
    case "consistent":
      return "consistent: everything in it fits together; what is said above could not be checked";
    case "bad":
      return `bad: ${findings.length} ${findings.length === 1 ? "finding" : "findings"}`;
  }
}
