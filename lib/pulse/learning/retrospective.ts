import type { AuditEntry } from "../../audit/entry.ts";
import { entriesOf } from "../../audit/page.ts";
import type { PulseDeps } from "../deps.ts";
import type { Change } from "../../governance/rules/change.ts";
import type { Outcome } from "../../governance/rules/outcome.ts";
import { recordOf } from "../../follow/record_keeping.ts";
import { lateItems } from "../../governance/rules/late_items.ts";
import { code, list, page, quoted } from "../markdown.ts";
import { wordOf } from "../../governance/rules/outcome_words.ts";
import { outcomes } from "../../follow/outcomes.ts";
import { reading } from "../../follow/reading.ts";
import { findChange } from "../../governance/records.ts";

const ENTRIES_SHOWN = 100;

/** The retrospective of a closed change: what was proposed, what happened, what came of it, what is not on record. */
export async function retrospectiveOf(deps: PulseDeps, changeId: string): Promise<string> {
  const { store } = deps;
  const record = await findChange(store, changeId);
  const outcome = (await (await reading(deps, outcomes)).get("outcomes", changeId))?.value.final ?? null;
  const { change } = record;
  const { missing } = recordOf(change, outcome, lateItems(change));
  const entries = await entriesOf(store, record.audit.slice(0, ENTRIES_SHOWN));
  return page(
    `# Retrospective of ${code(change.change_id)}`,
    list([
      `status: ${change.status}${change.resolution ? ` (${change.resolution})` : ""}`,
      `tenant: ${quoted(change.tenant_id)}`,
      `${change.kind} on ${code(change.target)}, tier ${change.tier}, risk ${change.risk}`,
      `summary: ${quoted(change.summary)}`,
      `rationale: ${change.rationale.trim() === "" ? "none" : quoted(change.rationale)}`,
      ...lateLines(change),
      `proposer: ${change.proposer === null ? "not named" : quoted(change.proposer)}`,
      `decided by: ${deciders(change)}`,
    ]),
    "## What happened",
    list(entries.map(({ timestamp, event_type, id }) => `${timestamp} ${event_type} (entry ${id})`)),
    "## What came of it",
    resultOf(outcome, entries),
    missing.length > 0 ? `Not on record: ${missing.join(", ")}.` : "Everything that should be on record is.",
    `Computed from the change, its outcome and its ${record.audit.length} audit entries.`,
  );
}

const lateLines = ({ late_notes = [] }: Change): string[] =>
  late_notes.map(({ item, note, actor, at }) => {
    const by = actor === null ? "" : ` by ${quoted(actor)}`;
    return `${item}, said late${by} at ${at}: ${quoted(note)}`;
  });

function deciders({ approver, approval_note, approvals }: Change): string {
  const all = approvals.map(({ approver: name, note }) => ({ name, note }));
  if (approver !== null && all.at(-1)?.name !== approver) all.push({ name: approver, note: approval_note ?? "" });
  const told = all.map(({ name, note }) => (note.trim() === "" ? quoted(name) : `${quoted(name)}: ${quoted(note)}`));
  return told.join("; ");
}

function resultOf(outcome: Outcome | null, entries: readonly AuditEntry[]): string {
  if (!outcome) return "It was never applied.";
  const failures = entries.filter(({ event_type }) => event_type.endsWith("_failed")).length;
  const others = outcome.side_effects.map(({ words }) => words).join("; ");
  const verdict = `Verdict: ${wordOf(outcome)}. ${outcome.words}${others && ` Other KPIs: ${others}.`} This is a correlation, not a cause.`;
  return failures === 0 ? verdict : `${verdict} ${failures} operations failed on the way.`;
}
