/** One change described from its record and its entries: why it was proposed, who decided and why, and what came of it. */
import { describeBasis, describeVerdict } from "../changes/rules/outcome_words.ts";
import { minuteText } from "../kit/days.ts";
import { label } from "../kit/quote.ts";
import { describe, describeDrift, toSentence } from "../wording/describe.ts";
import { nameChange, nameProposer } from "../wording/names.ts";
import { joinParts, showForeignText } from "../wording/part.ts";
import type { ChangeDetail } from "./facts.ts";
import { type Answer, cite, joinLines, quoteShortened, describeState } from "../find/found_text.ts";

/** Entries of a change that are listed; the newest. */
const MAX_EVENTS = 12;
const MAX_REASON = 300;

/** Explains a change. */
export function explainChange(change: ChangeDetail): Answer {
  const { change_id, rationale, outcome, drift, missing } = change;
  const lacking = missing.map(
    ({ count, of }) => `${count} of ${of.length === 0 ? "anybody" : of.map(label).join(", ")}`,
  );
  const entries = change.audit_entries.slice(-MAX_EVENTS);
  return {
    text: joinLines(
      `${joinParts(nameChange(change))} is ${describeState(change)}. ${change_id}`,
      `Proposed by ${joinParts(nameProposer(change))}${rationale === "" ? ", without a reason." : `, because: ${quoteShortened(rationale)}`}`,
      lacking.length === 0 ? "" : `Consent still missing: ${lacking.join("; ")}.`,
      entries.map(eventLine),
      outcome ? `Outcome: ${describeVerdict(outcome)}. ${outcome.words} ${describeBasis(outcome)}` : "",
      drift ? `Since ${minuteText(drift.since)} ${describeDrift(drift.state)}.` : "",
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

/** One entry of the log: when, what, by whom and why. */
const eventLine = ({ timestamp, ...entry }: ChangeDetail["audit_entries"][number]): string =>
  `- ${minuteText(timestamp)}: ${joinParts(toSentence(describe(entry)), (part) => showForeignText(part, MAX_REASON))}`;
