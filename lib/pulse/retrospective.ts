/** The retrospective of a closed change, and the words for how and why a change ended. */
import { entriesOf } from "../audit/page.ts";
import { type Entry, factsIn } from "../follow/entries.ts";
import { outcomes } from "../follow/outcomes.ts";
import { reading } from "../follow/reading.ts";
import { recordOf } from "../follow/record_keeping.ts";
import { findChange } from "../governance/records.ts";
import { POLICY_GUARDRAIL } from "../governance/rules/actor.ts";
import type { Change, Resolution } from "../governance/rules/change.ts";
import type { GuardrailEvidence } from "../governance/rules/guardrail.ts";
import { worsenedWords } from "../governance/rules/kpi_words.ts";
import { lateItems } from "../governance/rules/late_items.ts";
import type { Outcome } from "../governance/rules/outcome.ts";
import { wordOf } from "../governance/rules/outcome_words.ts";
import { label } from "../kit/quote.ts";
import type { Store } from "../store/store.ts";
import type { PulseDeps } from "./deps.ts";
import { code, escaped, list, page, quoted } from "./markdown.ts";

const MAX_ENTRIES = 100;
/** A change ends within this many of its newest entries: only notes and an erasure come after that. */
const ENDING_AMONG = 50;
const MAX_NOTE = 200;

/** The entry by which a change ended; undefined for one that is applied or still waits. */
export async function readEnding(
  store: Pick<Store, "getMany">,
  { audit }: { audit: readonly number[] },
): Promise<Entry | undefined> {
  const entries = (await entriesOf(store, audit.slice(-ENDING_AMONG))).map(factsIn);
  return entries.findLast(
    ({ event_type, facts }) =>
      event_type === "change_rolled_back" || (event_type === "consent_decision" && facts.status === "denied"),
  );
}

const BY_TIME: Readonly<Partial<Record<Resolution, string>>> = {
  expired: "expired without consent",
  lapsed: "lapsed: approved, and not applied in time",
};

/** How and why a change ended, in Markdown: `rolled back by ana: “80 calls”`. */
export function endingWords({ event_type, facts }: Pick<Entry, "event_type" | "facts">): string {
  const { decision = "denied", note, evidence } = facts as Entry["facts"] & { evidence?: GuardrailEvidence };
  if (event_type === "change_rolled_back" && facts.by === POLICY_GUARDRAIL && evidence)
    return `rolled back by a guardrail: ${evidence.kpi} ${worsenedWords(evidence.baseline, evidence.value)}`;
  if (event_type === "consent_decision" && decision in BY_TIME) return BY_TIME[decision as Resolution]!;
  const by = (event_type === "change_rolled_back" ? (facts.actor ?? facts.by) : facts.approver) ?? "";
  const what =
    event_type === "change_rolled_back" ? "rolled back" : decision === "revoked" ? "consent revoked" : decision;
  return `${what}${by && ` by ${escaped(label(by))}`}: ${note?.trim() ? quoted(note, MAX_NOTE) : "no reason given"}`;
}

/** Writes the retrospective of a closed change: how it ended, its steps, its outcome, and what is not on record. */
export async function writeRetrospective(deps: PulseDeps, changeId: string): Promise<string> {
  const { store } = deps;
  const record = await findChange(store, changeId);
  const outcome = (await (await reading(deps, outcomes)).get("outcomes", changeId))?.value.final ?? null;
  const { change } = record;
  const { missing } = recordOf(change, outcome, lateItems(change));
  const entries = await entriesOf(store, record.audit.slice(0, MAX_ENTRIES));
  const ending = await readEnding(store, record);
  return page(
    `# Retrospective of ${code(change.change_id)}`,
    list([
      `status: ${ending ? endingWords(ending) : change.status}`,
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
    resultOf(outcome, entries.filter(({ event_type }) => event_type.endsWith("_failed")).length),
    missing.length > 0 ? `Not on record: ${missing.join(", ")}.` : "Everything that should be on record is.",
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
  return all.map(({ name, note }) => quoted(name) + (note.trim() === "" ? "" : `: ${quoted(note)}`)).join("; ");
}

function resultOf(outcome: Outcome | null, failures: number): string {
  if (!outcome) return "It was never applied.";
  const others = outcome.side_effects.map(({ words }) => words).join("; ");
  const failed = failures === 0 ? "" : ` ${failures} operations failed on the way.`;
  return `Verdict: ${wordOf(outcome)}. ${outcome.words}${others && ` Other KPIs: ${others}.`} This is a correlation, not a cause.${failed}`;
}
