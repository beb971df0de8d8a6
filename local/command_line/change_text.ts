/** Formats changes for a terminal. */
import type { ChangeDetail, Schema } from "../../lib/client/client.ts";
import { describeAutomation } from "../../lib/changes/rules/automation_words.ts";
import type { PlanEntry } from "../../lib/changes/rules/change.ts";
import type { Content } from "../../lib/changes/rules/content.ts";
import { describeDrift } from "../../lib/wording/describe.ts";
import { formatEntry, formatFacts, formatTable, escapeInvisible } from "./text.ts";

/** Formats changes as a table; "-" is a field that was not stated. */
export const formatChanges = (changes: readonly Schema<"Change">[], columns?: number): string =>
  formatTable(
    ["change", "status", "tier", "risk", "reach", "tenant", "target", "summary"],
    changes.map((change) => [
      change.change_id,
      change.resolution ?? change.status,
      change.tier,
      change.unstated?.includes("risk") ? "-" : change.risk,
      change.affected_users === null ? "-" : String(change.affected_users),
      change.tenant_id,
      change.sets_nothing && UNAPPLIED.includes(change.status)
        ? `${change.target} (sets nothing)`
        : `${change.target}${change.sets ? ` (${change.sets.length} targets)` : ""}`,
      change.summary,
    ]),
    columns,
    // A narrow terminal omits these columns, in this order.
    ["reach", "risk", "tier", "tenant"],
  );

/** The statuses before an apply. */
const UNAPPLIED: readonly string[] = ["pending_consent", "approved"];

/** Lists the content of a change by label: its new values and its reasons. */
export const listContentFacts = (content: Content, unstated: NonNullable<ChangeDetail["unstated"]> = []) => ({
  tenant: content.tenant_id,
  kind: content.kind,
  target: content.target,
  value: content.sets ? null : valueText(content.value),
  sets: content.sets?.map(formatPlanEntry).join("\n"),
  reach: content.affected_users ?? "not stated",
  tier: content.tier,
  risk: unstated.includes("risk") ? "not stated" : content.risk,
  reversible: unstated.includes("reversible") ? "not stated" : yesOrNo(content.reversible),
  expected:
    content.expected_delta_k === null
      ? null
      : `${content.expected_delta_k}${content.kpi === null ? "" : ` on ${content.kpi}`}`,
  promotes: content.promotes,
  // Its label says "applies" already.
  applies: describeAutomation(content)?.replace(/^applies /, ""),
  rationale: content.rationale,
});

const yesOrNo = (value: boolean): string => (value ? "yes" : "no");

const valueText = (value: unknown): string => (value === undefined ? "(sets nothing)" : JSON.stringify(value));

const formatPlanEntry = ({ tenant_id, target, value }: PlanEntry): string =>
  `${target} for ${tenant_id}: ${value === undefined ? "(erased)" : JSON.stringify(value)}`;

/** Returns why a change is not minor, without the words that begin the sentence. */
export const describeNotMinor = (tierReason: string | undefined): string | undefined =>
  tierReason?.replace(/^It is not minor: /, "");

/** Formats a change with everything that an approver should see. */
export function changeText(change: ChangeDetail): string {
  const { change_id, status, resolution, summary } = change;
  const parts = [
    `${change_id}  ${resolution ?? status}`,
    `${escapeInvisible(summary)}\n`,
    formatFacts({
      ...listContentFacts(change as unknown as Content, change.unstated),
      "not minor": describeNotMinor(change.tier_reason),
      note: change.value_hint,
      proposer: change.proposer === null ? null : `${change.proposer} (${change.proposer_kind})`,
      created: change.created_at,
      digest: change.digest,
      may: change.allowed_actions.join(", "),
    }),
  ];
  if (change.signers.length > 0)
    parts.push(
      `\nConsented:\n${change.signers.map((each) => `  ${escapeInvisible(each.approver)}, ${each.authenticated ?? "unknown"}`).join("\n")}`,
    );
  if (change.missing.length > 0)
    parts.push(
      `\nMissing:\n${describeMissing(change.missing)
        .map((each) => `  ${escapeInvisible(each)}`)
        .join("\n")}`,
    );
  if (change.late_notes?.length) parts.push(`\nLate notes:\n${change.late_notes.map(lateNoteText).join("\n")}`);
  for (const [state, title] of [
    ["block", "Blocks its apply"],
    ["warn", "Warnings"],
  ]) {
    const gates = change.gates.filter((gate) => gate.state === state);
    if (gates.length > 0)
      parts.push(
        `\n${title}:\n${gates.map(({ gate, message }) => `  ${gate}: ${escapeInvisible(message)}`).join("\n")}`,
      );
  }
  if (change.drift) parts.push(`\nDrifted: ${describeDrift(change.drift.state)}, seen ${change.drift.since}`);
  if (change.related.length > 0) parts.push(`\nRelated changes:\n${change.related.map(relatedText).join("\n")}`);
  const entries = change.audit_entries.map((entry) => [String(entry.id), entry.timestamp, formatEntry(entry)]);
  parts.push(`\n${formatTable(["entry", "at", "event"], entries)}`);
  return parts.join("\n");
}

const lateNoteText = ({ item, note, actor, at }: NonNullable<ChangeDetail["late_notes"]>[number]): string =>
  `  ${item}, by ${escapeInvisible(actor ?? "somebody")} at ${at}: ${escapeInvisible(note)}`;

const RELATION = {
  live: "waits on this target",
  holds: "is what the target holds",
  supersedes: "is superseded by this",
  superseded_by: "supersedes this",
} as const;

const relatedText = ({ change_id, summary, proposer, status, resolution, relations }: Related): string =>
  `  ${escapeInvisible(summary)}${proposer === null ? "" : ` by ${escapeInvisible(proposer)}`} (${change_id}, ${resolution ?? status}): ${relations.map((one) => RELATION[one]).join(", ")}`;

type Related = ChangeDetail["related"][number];

/** Describes the missing consents, each by its rule. */
export const describeMissing = (missing: readonly MissingConsent[]): string[] => missing.map(missingText);

type MissingConsent = Pick<ChangeDetail["missing"][number], "rule" | "count" | "of">;

const missingText = ({ rule, count, of }: MissingConsent): string =>
  `${rule}: ${count} of ${of.length === 0 ? "anybody" : of.join(", ")}`;
