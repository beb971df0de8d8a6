/** The built-in responder's English. */
import type { Change } from "../governance/rules/change.ts";
import type { DriftEpisode } from "../governance/drift.ts";
import type { EffectPart } from "../governance/rules/effect.ts";
import type { ChangeDetail, Failure, Overview, Waiting } from "./facts.ts";
import type { Recalled } from "../memory/recall.ts";

type Status = Change["status"];
type Product = NonNullable<Overview["product"]>;
type Awaiting = Waiting["pending"][number];

const share = (value: number | null): string => (value === null ? "no data" : String(Number(value.toFixed(3))));
const STATUS: Record<Status, string> = {
  proposed: "proposed",
  pending_consent: "waiting for consent",
  approved: "approved",
  applied: "applied",
  rolled_back: "rolled back",
  denied: "denied",
};

export const EN = {
  off: "The product runtime is off: no changes, KPIs or audit log. Start the service with --product-intent PATH to turn it on. Chat, tasks and monitoring work.",
  help: "Ask me about: status; what is pending; why a change (name its id or target); KPIs; what failed. Anything else I look up in memory.",
  nothingFound: "I found nothing about that in the records or in memory.",
  whichChange: (recent: readonly Change[]) =>
    recent.length === 0
      ? "There is no change yet."
      : `Which change? Name its id or target. The newest: ${recent.map(({ change_id, target }) => `${target} (${change_id})`).join("; ")}.`,

  state: ({ tick, E, M, R, N, tasks }: Overview["state"]) =>
    `Tick ${tick}. E ${share(E)}, M ${share(M)}, R ${share(R)}, N ${share(N)}. Tasks: ${tasks.queued} queued, ${tasks.running} running, ${tasks.completed} completed, ${tasks.failed} failed.`,
  product: ({ identity, intent, changes, audit, drift }: Product) => {
    const counts = (Object.keys(STATUS) as Status[])
      .filter((status) => changes[status])
      .map((status) => `${changes[status]} ${STATUS[status]}`);
    const adapter = intent.adapter ? `${intent.adapter.name}, ${intent.adapter.status}` : "none";
    return [
      `${identity.product_id} ${intent.version}: ${counts.length > 0 ? `changes ${counts.join(", ")}` : "no changes yet"}.`,
      `Last KPI feed: ${intent.last_kpi_at ?? "none"}. Adapter: ${adapter}. Drift: ${drift ?? "not checked"}.`,
      audit.breach
        ? `The audit chain does not hold at entry ${audit.breach.first_invalid}; writes are refused.`
        : `The audit log has ${audit.length} entries.`,
    ].join("\n");
  },

  pending: (count: number) =>
    count === 0
      ? "Nothing waits for consent."
      : `${count} ${count === 1 ? "change waits" : "changes wait"} for consent:`,
  approved: (count: number) =>
    count === 0 ? "" : `${count} approved ${count === 1 ? "change waits" : "changes wait"} for its apply:`,
  waiting: ({ change_id, target, tier, summary, approvals, required_approvers }: Awaiting) =>
    `- ${change_id} ${target}, ${tier}: ${summary} (${approvals.length} of ${required_approvers} consents)`,
  more: (count: number) => `- and ${count} more`,

  change: ({ change_id, target, tenant_id, summary, status, resolution, rationale, proposer, created_at }: Change) =>
    [
      `${change_id} on ${target} of ${tenant_id}: ${summary}. It is ${STATUS[status]}${resolution && resolution !== "denied" ? ` (${resolution})` : ""}.`,
      `Proposed ${proposer === null ? "" : `by ${proposer} `}on ${created_at}. Rationale: ${rationale || "none was given"}.`,
    ].join("\n"),
  decided: ({ approver, approval_note, status }: Change) =>
    `Last decision: ${status === "denied" ? "denied" : "approved"} by ${approver}${approval_note ? `: ${approval_note}` : ", without a note"}.`,
  blocked: (messages: readonly string[]) => `What blocks it: ${messages.join("; ")}.`,
  outcome: ({ kpi, expected_delta_k, realised_delta, verdict }: NonNullable<ChangeDetail["outcome"]>) =>
    kpi === null
      ? "No KPI was named, so there is no verdict on it."
      : `${kpi}: ${share(expected_delta_k)} expected, ${share(realised_delta)} realised, ${verdict} (a correlation).`,
  entries: (ids: readonly number[]) => `Audit entries: ${ids.join(", ")}.`,

  noKpis: "No KPI has been fed yet.",
  effect: (value: number | null) => `E is ${share(value)}.`,
  kpi: ({ kpi, value, at, baseline, target, attainment, reason }: EffectPart) =>
    `- ${kpi} ${value} on ${at}${attainment === null ? ` (does not count: ${reason})` : `, baseline ${baseline}, target ${target}, attainment ${share(attainment)}`}`,

  noFailures: "Nothing failed in the newest 1,000 audit entries, and no drift is known.",
  failure: ({ audit_id, event_type, change_id, at, stage, error, host }: Failure) =>
    `- ${event_type} ${change_id} on ${at}${stage ? ` in ${stage}` : ""}${error ? `: ${error}` : ""}${host ? `; the host showed ${host}` : ""} (audit entry ${audit_id})`,
  drift: ({ change_id, target, state, since }: DriftEpisode) => `- ${target} is ${state} since ${since} (${change_id})`,

  remembered: "From memory:",
  memory: ({ at, text }: Recalled) => `- ${at.slice(0, 10)} ${text}`,
  modelFailed: (reason: string) => `The language model did not answer (${reason}); this answer is from the records.`,
};

/** What a language of the responder must be able to say. */
export type Phrases = typeof EN;
