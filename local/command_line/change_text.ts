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
    changes.map((each) => [
      each.change_id,
      each.resolution ?? each.status,
      each.tier,
      each.unstated?.includes("risk") ? "-" : each.risk,
      each.affected_users === null ? "-" : String(each.affected_users),
      each.tenant_id,
      each.sets_nothing && LIVE.includes(each.status)
        ? `${each.target} (sets nothing)`
        : `${each.target}${each.sets ? ` (${each.sets.length} targets)` : ""}`,
      each.summary,
    ]),
    columns,
    ["reach", "risk", "tier", "tenant"],
  );

/** The statuses in which a decision is still open. */
const LIVE: readonly string[] = ["pending_consent", "approved"];

/** Lists the content of a change by label: its new values and its reasons. */
export const listContentFacts = (content: Content, unstated: NonNullable<ChangeDetail["unstated"]> = []) => ({
  tenant: content.tenant_id,
  kind: content.kind,
  target: content.target,
  value: content.sets ? null : content.value === undefined ? "(sets nothing)" : JSON.stringify(content.value),
  sets: content.sets?.map(formatPlanEntry).join("\n"),
  reach: content.affected_users ?? "not stated",
  tier: content.tier,
  risk: unstated.includes("risk") ? "not stated" : content.risk,
  reversible: unstated.includes("reversible") ? "not stated" : content.reversible ? "yes" : "no",
  expected:
    content.expected_delta_k === null
      ? null
      : `${content.expected_delta_k}${content.kpi === null ? "" : ` on ${content.kpi}`}`,
  promotes: content.promotes,
  applies: describeAutomation(content)?.replace(/^applies /, ""),
  rationale: content.rationale,
});

const formatPlanEntry = ({ tenant_id, target, value }: PlanEntry): string =>
  `${target} for ${tenant_id}: ${value === undefined ? "(erased)" : JSON.stringify(value)}`;

/** Formats a change with everything that an approver should see. */
export function changeText(change: ChangeDetail): string {
  const { change_id, status, resolution, summary } = change;
  const parts = [
    `${change_id}  ${resolution ?? status}`,
    `${escapeInvisible(summary)}\n`,
    formatFacts({
      ...listContentFacts(change as unknown as Content, change.unstated),
      "not minor": change.tier_reason?.replace(/^It is not minor: /, ""),
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
  if (change.late_notes?.length) parts.push(`\nSaid late:\n${change.late_notes.map(lateText).join("\n")}`);
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

const lateText = ({ item, note, actor, at }: NonNullable<ChangeDetail["late_notes"]>[number]): string =>
  `  ${item}, by ${escapeInvisible(actor ?? "somebody")} at ${at}: ${escapeInvisible(note)}`;

const RELATION = {
  live: "waits on this target",
  holds: "is what the target holds",
  supersedes: "has its place taken by this",
  superseded_by: "takes its place",
} as const;

const relatedText = ({ change_id, summary, proposer, status, resolution, relations }: Related): string =>
  `  ${escapeInvisible(summary)}${proposer === null ? "" : ` by ${escapeInvisible(proposer)}`} (${change_id}, ${resolution ?? status}): ${relations.map((one) => RELATION[one]).join(", ")}`;

type Related = ChangeDetail["related"][number];

/** Describes the missing consents, each by its rule. */
export const describeMissing = (missing: readonly MissingConsent[]): string[] => missing.map(missingText);

type MissingConsent = Pick<ChangeDetail["missing"][number], "rule" | "count" | "of">;

const missingText = ({ rule, count, of }: MissingConsent): string =>
  `${rule}: ${count} of ${of.length === 0 ? "anybody" : of.join(", ")}`;
