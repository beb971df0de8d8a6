/** One change described from its record and its entries: why it was proposed, who decided and why, and what came of it. */
import { factsIn } from "../follow/entries.ts";
import { minuteText } from "../kit/days.ts";
import { label, quote } from "../kit/quote.ts";
import type { ChangeDetail } from "./facts.ts";
import { type Answer, cite, lines, said, stateText } from "../find/found_text.ts";

/** Entries of a change that are listed; the newest. */
const MAX_EVENTS = 12;

/** Explains a change. */
export function explainChange(change: ChangeDetail): Answer {
  const { change_id, summary, target, tenant_id, rationale, proposer, outcome, drift, missing } = change;
  const lacking = missing.map(
    ({ count, of }) => `${count} of ${of.length === 0 ? "anybody" : of.map(label).join(", ")}`,
  );
  const entries = change.audit_entries.slice(-MAX_EVENTS);
  return {
    text: lines(
      `${quote(summary)} (${label(target)}, tenant ${label(tenant_id)}) is ${stateText(change)}. ${change_id}`,
      `Proposed by ${proposer === null ? "nobody named" : label(proposer)}${rationale === "" ? ", without a reason." : `, because: ${said(rationale)}`}`,
      lacking.length === 0 ? "" : `Consent still missing: ${lacking.join("; ")}.`,
      entries.map(eventLine),
      outcome ? `Outcome: ${outcomeText(outcome)}` : "",
      drift
        ? `The host ${drift.state === "missing" ? "shows nothing of it" : "shows another value"} since ${minuteText(drift.since)}.`
        : "",
    ),
    citations: [
      ...cite("change", [change_id]),
      ...cite(
        "audit",
        entries.map(({ id }) => id),
      ),
    ],
    isComplete: true,
  };
}

type Detail = ChangeDetail["audit_entries"][number];

/** One entry of the log: when, what, by whom and what was said. */
export function eventLine(entry: Detail): string {
  const { timestamp, event_type, facts } = factsIn(entry);
  const { approver, actor, proposer, note, decision, error } = facts as Record<string, unknown>;
  const by = [approver, actor, event_type === "change_proposed" ? proposer : null].find(
    (one) => typeof one === "string" && one !== "",
  );
  const words = [note, error].find((one) => typeof one === "string" && one !== "");
  const what = typeof decision === "string" ? `${event_type} (${decision})` : event_type;
  return `- ${minuteText(timestamp)}: ${what}${by ? ` by ${label(by as string)}` : ""}${words ? `: ${said(words as string)}` : ""}`;
}

function outcomeText({ kpi, verdict, expected_delta_k, realised_delta }: NonNullable<ChangeDetail["outcome"]>): string {
  if (kpi === null) return `${verdict.replace("_", " ")}; it names no KPI.`;
  const moved =
    realised_delta === null
      ? "not known yet"
      : `${Math.abs(realised_delta)} ${realised_delta > 0 ? "better" : realised_delta < 0 ? "worse" : "(unchanged)"}`;
  return `${verdict.replace("_", " ")}; ${label(kpi)} expected ${expected_delta_k ?? "nothing stated"}, so far ${moved}. It is a correlation, no proof.`;
}
