/** Formats the result of verifying a certificate for people. */
import type { CertificateReport, Step } from "./certificate.ts";
import { escapeForTerminal } from "./note.ts";

/** Returns lines: the change, its steps, the findings, and the verdict last. */
export function certificateText(file: string, report: CertificateReport): string {
  const { change_id, content, erased, digest, origin, checkpoint, steps, findings, remarks } = report;
  return [
    `${file}: ${change_id} in the log ${JSON.stringify(origin)}`,
    `${erased ? "remaining content after its erasure" : "content"}: ${content}`,
    `digest of the content: ${digest}`,
    ...steps.map(stepText),
    ...findings.map(({ entry, rule, message }) => `${entry === null ? "" : `entry ${entry}: `}${rule}: ${message}`),
    ...(checkpoint ? [`the log had ${checkpoint.length} entries; signed by ${checkpoint.signed_by}`] : []),
    ...(checkpoint?.witnessed_by ?? []).map(({ name, at }) => `cosigned by the witness ${name} at ${at}`),
    ...remarks,
    verdictText(report),
  ]
    .map(escapeForTerminal)
    .join("\n");
}

const EVENT_TEXTS: ReadonlyMap<string, string> = new Map([
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
  const action = [EVENT_TEXTS.get(event), decision].filter(Boolean).join(", ") || event;
  const signatureText = key === null ? authenticationText(authenticated) : `signed with ${keyText(key, authenticated)}`;
  const actorText = name === null ? "" : ` by ${JSON.stringify(name)}`;
  const statusText = DECIDING_EVENTS.has(event) ? `, then ${status}` : "";
  const noteText = note ? `, note ${JSON.stringify(note)}` : "";
  return `entry ${entry}, ${at}: ${action}${actorText}${statusText} (${signatureText}${noteText}), under the intent ${manifest_hash}`;
}

/** Events after which the text names the change's status. */
const DECIDING_EVENTS: ReadonlySet<string> = new Set(["change_proposed", "consent_decision"]);

/** Describes how the name of a step without a verified signature was authenticated. */
const authenticationText = (authenticated: string | null): string =>
  authenticated?.startsWith("signature")
    ? "recorded as signed, not checked"
    : `authenticated by: ${authenticated ?? "nothing"}`;

/** Describes a signing key, and whether its owner was present. */
const keyText = (key: string, authenticated: string | null): string =>
  authenticated === "signature_unattended"
    ? `${key}, a key that can sign without its owner`
    : `${key}, its owner present and verified`;

function verdictText({ verdict, findings }: CertificateReport): string {
  switch (verdict) {
    case "valid":
      return "valid: the entries are in a log that the policy trusts; this file does not show whether later entries, such as a rollback, exist";
    case "consistent":
      return "consistent: no check failed; the remarks above say what could not be checked";
    case "bad":
      return `bad: ${findings.length} ${findings.length === 1 ? "finding" : "findings"}`;
  }
}
