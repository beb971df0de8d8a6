/** English for the state, the log, figures, tasks, peers and the policy, and for what is not understood. */
import type { Checkpoint } from "../../audit/checkpoint.ts";
import type { Breach, Verified } from "../../audit/integrity.ts";
import type { Change } from "../../governance/rules/change.ts";
import type { EffectPart } from "../../governance/rules/effect.ts";
import type { Intent, Policy } from "../../governance/rules/intent.ts";
import { label, quote } from "../../kit/quote.ts";
import type { Recalled } from "../../memory/recall.ts";
import type { Figures } from "../../pulse/figures.ts";
import type { Need } from "../../pulse/need.ts";
import type { State } from "../../pulse/state.ts";
import type { Task } from "../../pulse/tasks.ts";
import type { Overview } from "../facts.ts";
import { dayIn } from "./days.ts";
import { figure } from "./figure.ts";

type Product = NonNullable<Overview["product"]>;
type Status = Change["status"];

const STATUS: Record<Status, string> = {
  proposed: "proposed",
  pending_consent: "waiting for consent",
  approved: "approved",
  applied: "applied",
  rolled_back: "rolled back",
  denied: "denied",
};
const names = (of: readonly string[]): string => of.map(label).join(", ");

/** What a log is like. */
export interface LogTold {
  length: number;
  hash: string;
  breach: Breach | undefined;
  /** How far this process checked it last. */
  checked: Verified | undefined;
}

export const topics = {
  off: "The product runtime is off: no changes, KPIs or audit log. Start the service with --product-intent PATH to turn it on. Chat, tasks and monitoring work.",
  help: "Ask me about changes: which, who, how many, when and why, by person, tenant, target, kind, risk, status, verdict or days (yesterday, last week, since Monday, on 2026-11-03); what waits, for you or for whom; what is ready to apply, drifts, failed or missed its promise; whether the log is intact; KPIs and goals; what is overdue; tasks; the policy in force. I decide nothing.",
  notUnderstoodAtAll: "I do not understand this question.",
  notOnRecord: (words: readonly string[]): string =>
    `No person, tenant, target or KPI on record is called ${words.map((word) => quote(word, 60)).join(" or ")}, and no change speaks of it.`,
  nothingLeft: (words: readonly string[]): string =>
    words.length === 0 ? "" : `I do not understand ${words.map((word) => quote(word, 60)).join(", ")}.`,
  examples: ({
    target,
    tenant,
    person,
  }: {
    target: string | null;
    tenant: string | null;
    person: string | null;
  }): string =>
    `What works here, for example: ${[
      target === null ? "What waits for consent?" : `Why was ${label(target)} changed?`,
      tenant === null ? "Is the audit log intact?" : `What happened last week in tenant ${label(tenant)}?`,
      person === null ? "Who may approve?" : `What did ${label(person)} propose?`,
    ].join(" – ")}`,
  narrower: "ask for less, for instance for one tenant or one week",

  state: ({ tick, E, M, R, N, tasks }: Overview["state"]): string =>
    `Tick ${tick}. E ${figure(E)}, M ${figure(M)}, R ${figure(R)}, N ${figure(N)}. Tasks: ${tasks.queued} queued, ${tasks.running} running, ${tasks.completed} completed, ${tasks.failed} failed.`,
  product: ({ identity, intent, changes, audit, drift }: Product): string => {
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

  log: ({ length, hash, breach, checked }: LogTold): string =>
    [
      breach
        ? `The audit log does not hold: entry ${breach.first_invalid} is the first that does not (${breach.reason}). Writes are refused.`
        : checked
          ? `The audit log is intact: entries 1 to ${checked.length} were checked and hold.`
          : "No fault of the audit log is known; it is long, and was not checked whole by this process yet: countersign audit verify.",
      `It has ${length} entries${hash === "" ? "" : `, head ${hash}`}.`,
    ].join("\n"),
  checkpoint: ({ length, root, at }: Checkpoint): string =>
    `The newest checkpoint covers ${length} entries, root ${root}, made on ${dayIn(at)}.`,
  noCheckpoint: "No checkpoint was made yet.",
  misfits: (ids: readonly string[]): string => `Records that are not what the log says: ${ids.join(", ")}.`,

  noKpis: "No KPI has been fed yet.",
  effect: (value: number | null): string => `E is ${figure(value)}.`,
  kpi: (
    { kpi, value, at, baseline, target, attainment, reason }: EffectPart,
    goal: Figures["goals"][number] | undefined,
    stale: boolean,
  ): string =>
    `- ${kpi} ${value} on ${dayIn(at)}${attainment === null ? ` (does not count: ${reason})` : `, baseline ${baseline}, target ${target}, attainment ${figure(attainment)}`}${goal ? `, goal ${goal.status.replace("_", " ")}${goal.progress === null ? "" : `, progress ${figure(goal.progress)}${goal.status === "met" || target === null ? "" : `, ${figure(Math.abs(target - value))} to go`}`}` : ""}${stale ? ", stale: not fed for over 7 days" : ""}`,
  unfedKpis: (stale: number, never: number): string =>
    `KPIs that were not fed for over 7 days: ${stale || "none"}; that were never fed: ${never || "none"}.`,
  unfed: (kpi: string): string => `- ${kpi}: no value was fed yet`,
  need: ({ value, open, overdue, items }: Need): string =>
    [
      `N is ${figure(value)}: of ${open} open items ${overdue} are overdue.`,
      ...items.map((item) => `- ${item.item}: ${item.overdue} of ${item.open} overdue`),
    ].join("\n"),
  overduePending: (count: number): string => `Waiting for consent for over 24 hours: ${count}`,
  stale: (kpis: readonly string[]): string => `Stale KPIs: ${kpis.join(", ")}.`,
  tasks: ({ queued, running, completed, failed }: State["tasks"]): string =>
    `Tasks: ${queued} queued, ${running} running, ${completed} completed, ${failed} failed.`,
  task: ({ task_id, title, status, priority, created_at, feedback }: Task): string =>
    `- ${task_id} ${quote(title, 120)}: ${status}, priority ${priority}, submitted on ${dayIn(created_at)}${feedback.length > 0 ? `, rated ${feedback.map(({ rating }) => rating).join(", ")}` : ""}`,
  peers: (count: number): string => (count === 0 ? "No peer is known." : `${count} ${count === 1 ? "peer" : "peers"}:`),
  peer: ({
    state,
    log,
    instance_id,
    address,
  }: {
    state: string;
    log: string;
    instance_id?: string | null;
    address?: string;
  }): string => `- ${label(instance_id ?? address ?? "a peer")}: ${state}, its log ${log}`,
  noLink: "There is no link to other instances here.",

  intent: ({ product_id, version, approved_by }: Intent): string =>
    `The intent in force is ${label(product_id)} ${label(version)}, approved by ${label(approved_by)}.`,
  whoMayApprove: (electors: readonly string[] | undefined): string =>
    electors
      ? `Who may approve any change: ${electors.length === 0 ? "nobody" : names(electors)}.`
      : "Who may approve: anybody who states a name, but no agent.",
  howManyNeeded: ({ required_approvers: { standard, major } }: Policy): string =>
    `Consents needed: ${standard} for a standard change, ${major} for a major one (high risk, irreversible, or proposed as major).`,
  selfApproval: (allowed: boolean): string =>
    allowed ? "A proposer may approve their own change." : "Nobody may approve their own change.",
  owners: ({ targets, approvers, required }: Policy["owners"][number]): string =>
    `${names(targets)} also needs ${required} of its owners: ${names(approvers)}.`,
  breakGlass: (rule: Policy["break_glass"]): string =>
    rule
      ? `In an emergency ${rule.required} of ${names(rule.approvers)} may approve, to be reviewed within ${rule.review_hours} hours.`
      : "There is no consent in an emergency.",
  forbidden: (targets: readonly string[]): string =>
    targets.length === 0 ? "No target is forbidden." : `Forbidden targets: ${names(targets)}.`,
  isForbidden: (target: string, banned: boolean): string =>
    `${label(target)} is ${banned ? "forbidden" : "not forbidden"}.`,
  minor: (rule: Policy["minor"]): string =>
    rule
      ? `Minor changes need no consent: ${rule.kinds.join(", ") || "no kind"} on ${names(rule.targets) || "no target"}, at most ${rule.max_risk} risk${rule.max_affected_users === undefined ? "" : ` and ${rule.max_affected_users} users`}${rule.max_per_day === undefined ? "" : `, ${rule.max_per_day} a day`}.`
      : "Every change needs consent: no minor ones are provided for.",
  timeLimits: ({ consent_ttl_hours, approval_ttl_hours }: Policy): string =>
    `A change that waits for consent expires ${consent_ttl_hours === undefined ? "never" : `after ${consent_ttl_hours} hours`}; one that is approved and unapplied lapses ${approval_ttl_hours === undefined ? "never" : `after ${approval_ttl_hours} hours`}.`,
  guardrails: (rules: Policy["guardrails"]): string =>
    rules.length === 0
      ? "There are no guardrails."
      : `Guardrails: ${rules.map(({ kpi, max_regression, action }) => `${kpi} worse by more than ${max_regression}: ${action}`).join("; ")}.`,
  freeze: (freeze: State["freeze"]): string =>
    freeze
      ? `Applies are frozen by ${label(freeze.actor)} since ${dayIn(freeze.at)}, ${freeze.until === null ? "until somebody lifts it" : `until ${dayIn(freeze.until)}`}${freeze.note ? `: ${quote(freeze.note, 200)}` : ""}.`
      : "Nothing is frozen now.",
  frozenThen: (actor: string | null, days: { from: string; to: string }, note: string): string =>
    `Applies were frozen${actor === null ? "" : ` by ${label(actor)}`} from ${dayIn(days.from)} to ${dayIn(days.to)}${note === "" ? "" : `: ${quote(note, 200)}`}.`,
  windows: ({ allow, deny }: Policy["windows"]): string =>
    allow.length + deny.length === 0
      ? "No windows are set: changes may be applied at any time."
      : [
          ...allow.map(
            ({ days, from, to, tz }) => `Changes may be applied on ${days.join(", ")} from ${from} to ${to} (${tz}).`,
          ),
          ...deny.map(
            ({ from, to, reason }) => `None from ${from} to ${to}${reason ? `: ${quote(reason, 200)}` : ""}.`,
          ),
        ].join("\n"),

  decidesNothing: (verb: string): string =>
    `Chat decides nothing and does nothing: it cannot ${verb === "rollback" ? "roll back" : verb === "kpi" ? "feed KPIs" : verb}. A person does that:`,
  whereToAct: (page: string, verb: string): string => `${page}\ncountersign ${verb} --help`,
  noneNamed: "No change on record is named like that.",

  remembered: "From memory:",
  memory: ({ at, kind, basis, author, text }: Recalled): string =>
    `- ${at.slice(0, 10)}, ${basis === "said" ? "" : `${kind}${author === null ? "" : ` by ${label(author)}`}: `}${text}`,
  modelFailed: (reason: string): string =>
    `The language model did not answer (${reason}); this answer is from the records.`,
};
