/** A change in words and tables. */
import type { ChangeDetail, Schema } from "../../lib/client/client.ts";
import { describeAutomation } from "../../lib/changes/rules/automation_words.ts";
import type { PlanEntry } from "../../lib/changes/rules/change.ts";
import type { Content } from "../../lib/changes/rules/content.ts";
import { describeDrift } from "../../lib/wording/describe.ts";
import { entryText, facts, table, visible } from "./text.ts";

/** One row a change; "-" is what nobody stated. */
export const changesTable = (changes: readonly Schema<"Change">[], columns?: number): string =>
  table(
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

/** The new values of a change, and its reasons. */
export const contentFacts = (content: Content, unstated: NonNullable<ChangeDetail["unstated"]> = []) => ({
  tenant: content.tenant_id,
  kind: content.kind,
  target: content.target,
  value: content.sets ? null : content.value === undefined ? "(sets nothing)" : JSON.stringify(content.value),
  sets: content.sets?.map(entryLine).join("\n"),
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

const entryLine = ({ tenant_id, target, value }: PlanEntry): string =>
  `${target} for ${tenant_id}: ${value === undefined ? "(erased)" : JSON.stringify(value)}`;

/** All that somebody who decides should see. */
export function changeText(change: ChangeDetail): string {
  const { change_id, status, resolution, summary } = change;
  const parts = [
    `${change_id}  ${resolution ?? status}`,
    `${visible(summary)}\n`,
    facts({
      ...contentFacts(change as unknown as Content, change.unstated),
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
      `\nConsented:\n${change.signers.map((each) => `  ${visible(each.approver)}, ${each.authenticated ?? "unknown"}`).join("\n")}`,
    );
  if (change.missing.length > 0)
    parts.push(
      `\nMissing:\n${missingTexts(change.missing)
        .map((each) => `  ${visible(each)}`)
        .join("\n")}`,
    );
  if (change.late_notes?.length) parts.push(`\nSaid late:\n${change.late_notes.map(lateText).join("\n")}`);
  for (const [state, title] of [
    ["block", "Blocks its apply"],
    ["warn", "Warnings"],
  ]) {
    const gates = change.gates.filter((gate) => gate.state === state);
    if (gates.length > 0)
      parts.push(`\n${title}:\n${gates.map(({ gate, message }) => `  ${gate}: ${visible(message)}`).join("\n")}`);
  }
  if (change.drift) parts.push(`\nDrifted: ${describeDrift(change.drift.state)}, seen ${change.drift.since}`);
  if (change.related.length > 0) parts.push(`\nRelated changes:\n${change.related.map(relatedText).join("\n")}`);
  const entries = change.audit_entries.map((entry) => [String(entry.id), entry.timestamp, entryText(entry)]);
  parts.push(`\n${table(["entry", "at", "event"], entries)}`);
  return parts.join("\n");
}

const lateText = ({ item, note, actor, at }: NonNullable<ChangeDetail["late_notes"]>[number]): string =>
  `  ${item}, by ${visible(actor ?? "somebody")} at ${at}: ${visible(note)}`;

const RELATION = {
  live: "waits on this target",
  holds: "is what the target holds",
  supersedes: "has its place taken by this",
  superseded_by: "takes its place",
} as const;

const relatedText = ({ change_id, summary, proposer, status, resolution, relations }: Related): string =>
  `  ${visible(summary)}${proposer === null ? "" : ` by ${visible(proposer)}`} (${change_id}, ${resolution ?? status}): ${relations.map((one) => RELATION[one]).join(", ")}`;

type Related = ChangeDetail["related"][number];

/** Says which consents are missing, each by its rule. */
export const missingTexts = (missing: readonly MissingConsent[]): string[] => missing.map(missingText);

type MissingConsent = Pick<ChangeDetail["missing"][number], "rule" | "count" | "of">;

const missingText = ({ rule, count, of }: MissingConsent): string =>
  `${rule}: ${count} of ${of.length === 0 ? "anybody" : of.join(", ")}`;
