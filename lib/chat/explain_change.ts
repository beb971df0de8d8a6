/** Explains one change from its record and its entries: proposal, decisions with their reasons, and outcome. */
import { describeBasis, describeVerdict } from "../changes/rules/outcome_words.ts";
import { minuteText } from "../kit/days.ts";
import { label } from "../kit/quote.ts";
import { describe, describeDrift, toSentence } from "../wording/describe.ts";
import { nameChange, nameProposer } from "../wording/names.ts";
import { joinParts, showForeignText } from "../wording/part.ts";
import type { ChangeDetail } from "./facts.ts";
import { type Answer, cite, joinLines, quoteShortened, describeState } from "../find/found_text.ts";

/** Maximum number of listed entries of a change, the newest ones. */
const MAX_LISTED_ENTRIES = 12;
const MAX_REASON_LENGTH = 300;

/** Explains a change. */
export function explainChange(change: ChangeDetail): Answer {
  const { change_id, rationale, outcome, drift, missing } = change;
  const missingConsents = missing.map(
    ({ count, of }) => `${count} of ${of.length === 0 ? "anybody" : of.map(label).join(", ")}`,
  );
  const reason = rationale === "" ? ", without a reason." : `, because: ${quoteShortened(rationale)}`;
  const entries = change.audit_entries.slice(-MAX_LISTED_ENTRIES);
  return {
    text: joinLines(
      `${joinParts(nameChange(change))} is ${describeState(change)}. ${change_id}`,
      `Proposed by ${joinParts(nameProposer(change))}${reason}`,
      missingConsents.length === 0 ? "" : `Consent still missing: ${missingConsents.join("; ")}.`,
      entries.map(describeEntry),
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

/** Describes an entry of the log in a line with time, event, actor and reason. */
const describeEntry = ({ timestamp, ...entry }: ChangeDetail["audit_entries"][number]): string =>
  `- ${minuteText(timestamp)}: ${joinParts(toSentence(describe(entry)), (part) => showForeignText(part, MAX_REASON_LENGTH))}`;
