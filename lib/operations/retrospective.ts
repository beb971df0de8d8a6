/** Writes the retrospective of a closed change, and describes how and why a change ended. */
import { readEntriesById } from "../audit/page.ts";
import { type Entry, parseEntry } from "../projections/entries.ts";
import { outcomes } from "../projections/outcomes.ts";
import { readProjection } from "../projections/snapshot.ts";
import { checkRecord } from "../projections/outcomes/record_keeping.ts";
import { findChange } from "../changes/records.ts";
import type { Change } from "../changes/rules/change.ts";
import { listLateItems } from "../changes/rules/late_items.ts";
import type { Outcome } from "../changes/rules/outcome.ts";
import { describeBasis, describeVerdict } from "../changes/rules/outcome_words.ts";
import type { Store } from "../store/store.ts";
import { describe } from "../wording/describe.ts";
import { joinParts, showForeignText } from "../wording/part.ts";
import type { OperationsDeps } from "./deps.ts";
import { formatCode, escapeMarkdown, list, page, quoteMarkdown } from "./markdown.ts";

const MAX_ENTRIES = 100;
/** A change ends within this many of its newest entries: only notes and an erasure come after that. */
const MAX_ENTRIES_AFTER_END = 50;
const MAX_NOTE_LENGTH = 200;

/** Finds the entry by which a change ended; undefined for one that is applied or still waits. */
export async function readEnding(
  store: Pick<Store, "getMany">,
  { audit }: { audit: readonly number[] },
): Promise<Entry | undefined> {
  const entries = (await readEntriesById(store, audit.slice(-MAX_ENTRIES_AFTER_END))).map(parseEntry);
  return entries.findLast(
    ({ event_type, facts }) =>
      event_type === "change_rolled_back" || (event_type === "consent_decision" && facts.status === "denied"),
  );
}

/** Describes an entry in Markdown with its reason: `rolled back by ana: “80 calls”`. */
export function describeInMarkdown(entry: Entry): string {
  const { event, reason } = describe(entry);
  const parts = reason === undefined ? event : [...event, ": ", reason];
  return joinParts(parts, (part) => escapeMarkdown(showForeignText(part, MAX_NOTE_LENGTH)));
}

/** Describes the end of a change, with a remark if no reason was given. */
export const describeEnding = (entry: Entry): string =>
  `${describeInMarkdown(entry)}${describe(entry).reason === undefined ? ": no reason given" : ""}`;

/** Writes the retrospective of a closed change: how it ended, its steps, its outcome, and the missing items of its record. */
export async function writeRetrospective(deps: OperationsDeps, changeId: string): Promise<string> {
  const { store } = deps;
  const record = await findChange(store, changeId);
  const outcome = (await (await readProjection(deps, outcomes)).get("outcomes", changeId))?.value.final ?? null;
  const { change } = record;
  const { missing } = checkRecord(change, outcome, listLateItems(change));
  const entries = (await readEntriesById(store, record.audit.slice(0, MAX_ENTRIES))).map(parseEntry);
  const ending = await readEnding(store, record);
  return page(
    `# Retrospective of ${formatCode(change.change_id)}`,
    list([
      `status: ${ending ? describeEnding(ending) : change.status}`,
      `tenant: ${quoteMarkdown(change.tenant_id)}`,
      `${change.kind} on ${formatCode(change.target)}, tier ${change.tier}, risk ${change.risk}`,
      `summary: ${quoteMarkdown(change.summary)}`,
      `rationale: ${change.rationale.trim() === "" ? "none" : quoteMarkdown(change.rationale)}`,
      ...listLateNotes(change),
      `proposer: ${change.proposer === null ? "not named" : quoteMarkdown(change.proposer)}`,
      `decided by: ${listDeciders(change)}`,
    ]),
    "## What happened",
    list(entries.map((entry) => `${entry.timestamp} ${describeInMarkdown(entry)} (entry ${entry.id})`)),
    "## What came of it",
    describeResult(outcome, entries.filter(({ event_type }) => event_type.endsWith("_failed")).length),
    missing.length > 0 ? `Not on record: ${missing.join(", ")}.` : "Everything that should be on record is.",
  );
}

const listLateNotes = ({ late_notes = [] }: Change): string[] =>
  late_notes.map(({ item, note, actor, at }) => {
    const by = actor === null ? "" : ` by ${quoteMarkdown(actor)}`;
    return `${item}, said late${by} at ${at}: ${quoteMarkdown(note)}`;
  });

function listDeciders({ approver, approval_note, approvals }: Change): string {
  const all = approvals.map(({ approver: name, note }) => ({ name, note }));
  // The last decision may be a denial or that of a rule, which is not among the approvals.
  if (approver !== null && all.at(-1)?.name !== approver) all.push({ name: approver, note: approval_note ?? "" });
  return all
    .map(({ name, note }) => quoteMarkdown(name) + (note.trim() === "" ? "" : `: ${quoteMarkdown(note)}`))
    .join("; ");
}

function describeResult(outcome: Outcome | null, failures: number): string {
  if (!outcome) return "It was never applied.";
  const others = outcome.side_effects.map(({ words }) => words).join("; ");
  const failed = failures === 0 ? "" : ` ${failures} operations failed on the way.`;
  return `Verdict: ${describeVerdict(outcome)}. ${outcome.words}${others && ` Other KPIs: ${others}.`} ${describeBasis(outcome)}${failed}`;
}
