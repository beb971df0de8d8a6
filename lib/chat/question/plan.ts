/** From what a question says to the query that it asks. */
import { POLICY_GUARDRAIL } from "../../governance/rules/actor.ts";
import type { ChangeFilter } from "../../pulse/query/filter.ts";
import type { Event, Row } from "../../pulse/query/row.ts";
import { type Deed, DEEDS, ENDS } from "./deeds.ts";
import { isOnHost, peopleIn, together } from "./people.ts";
import type { Question } from "./read.ts";
import type { Sense } from "./senses.ts";
import { numberIn } from "./day_forms.ts";
import { textOf } from "./words_held.ts";

const EVENT_OF: Readonly<Record<Deed, Event>> = {
  rolled_back: "rolled_back",
  revoked: "denied",
  withdrawn: "denied",
  denied: "denied",
  expired: "denied",
  lapsed: "denied",
  applied: "applied",
  approved: "approved",
  decided: "decided",
  closed: "closed",
  proposed: "proposed",
};

/** A question's query, and what of the question is not in it. */
export interface Plan {
  filter: ChangeFilter;
  deed: Deed | undefined;
  /** Whoever applied or rolled back, whom only the log names; of several names any. */
  doer: { name: string | readonly string[]; deed: "applied" | "rolled_back" } | undefined;
  /** Whether anything says which changes are meant. */
  isNarrow: boolean;
  /** Words that were not understood. */
  left: string[];
  /** So many of them are asked for; undefined: all. */
  most: number | undefined;
  /** What of the question the query says. */
  used: readonly Sense[];
}

/** The query that a question asks, over what was looked at. `asker`: whoever says "I". */
export function planOf(question: Question, rows: readonly Row[], asker: string | null): Plan {
  const { has } = question;
  const deed = DEEDS.find((each) => has(each));
  const { first, others } = together(question, peopleIn(question, asker));
  const users = usersIn(question);
  const left = [...others.map(({ name }) => name), ...question.periods.slice(1).map(({ from, to }) => `${from}…${to}`)];
  const filter: ChangeFilter = {
    ...ofNames(question, rows, left),
    ...ofState(question, deed, first?.role === "proposer" && !first.deed),
    ...ofWords(question),
    ...(users && { affected_users: users.asked }),
  };
  const byGuardrail = deed === "rolled_back" && has("guardrails");
  const doer = byGuardrail ? { name: POLICY_GUARDRAIL, deed } : first && isOnHost(first) ? first : undefined;
  if (first && !doer) filter.person = { name: first.name, as: first.role };
  const [period] = question.periods;
  if (period || filter.period) {
    const of = filter.period?.of ?? "proposed";
    const asApprover = filter.person?.as === "approver" && of === "approved";
    filter.period = { of: asApprover ? "consented" : of, ...period };
  }
  const [, count] = FIRST.exec(question.text) ?? [];
  const unknown = question.unknown.filter((word) => word !== users?.words && word !== count?.toLowerCase());
  const text = textOf({ ...question, unknown }, filter, rows, left);
  if (text !== undefined) filter.text = text;
  const narrowing = Object.keys(filter).filter((field) => field !== "period" || period !== undefined);
  return {
    filter,
    deed,
    doer: doer && { name: doer.name, deed: doer.deed as "applied" | "rolled_back" },
    isNarrow: narrowing.length > 0 || doer !== undefined,
    left,
    most: count === undefined ? undefined : numberIn(count.toLowerCase()),
    used: [
      ...usedIn(filter),
      ...(deed && (filter.period || doer) ? [deed] : []),
      ...(byGuardrail ? (["guardrails"] as const) : []),
    ],
  };
}

/** What of a question stands in its filter. */
function usedIn({ status, resolution, verdict, drifted, emergency, reversible, kpi }: ChangeFilter): Sense[] {
  const asked = (is: boolean, ...senses: Sense[]): Sense[] => (is ? senses : []);
  const statuses = [status ?? []].flat();
  return [
    ...asked(statuses.includes("pending_consent"), "pending", "waits", "open"),
    ...asked(statuses.includes("approved"), "ready", "waits", "open"),
    ...asked(statuses.includes("applied"), "live"),
    ...asked(resolution !== undefined, ...(Object.keys(ENDS) as Sense[])),
    ...asked(verdict !== undefined, "failed", "met", "missed", "regressed", "inconclusive", "early", "outcome"),
    ...asked(drifted !== undefined, "drifted"),
    ...asked(emergency !== undefined, "emergency"),
    ...asked(reversible !== undefined, "irreversible", "reversible"),
    ...asked(kpi !== undefined, "kpis", "goals"),
  ];
}

/** What is named: changes by their ids or how those begin, tenants, targets and KPIs. */
function ofNames(question: Question, rows: readonly Row[], left: string[]): ChangeFilter {
  const asked = question.named("change");
  const ids = asked.flatMap((id) => {
    const known = rows.filter(({ change_id }) => change_id.startsWith(id)).map(({ change_id }) => change_id);
    // An older change than those looked at may have this id.
    if (known.length === 0 && id.length === 40) return [id];
    if (known.length === 0) left.push(id);
    return known;
  });
  const tenants = question.named("tenant");
  const targets = question.named("target");
  const kpis = question.named("kpi");
  return {
    ...(asked.length > 0 && { change_id: ids }),
    ...(tenants.length > 0 && { tenant_id: tenants }),
    ...(targets.length > 0 && { target: targets }),
    ...(kpis.length > 0 && { kpi: kpis }),
  };
}

const UNREASONED =
  /\b(?:no|without an?y?|without) (?:rationale|reason|justification|explanation)|(?:没有?|未)(?:给出?|写|说明?|附)?(?:任何)?(?:理由|原因)/i;
const HOW = /\b(?:did|does|do|has|have) (?:it|they|that)\b/i;

/** What happened to them, and how they stand. */
function ofState({ has, periods, text }: Question, deed: Deed | undefined, isOfTheirs: boolean): ChangeFilter {
  // "Did it pay off?" asks how it came out.
  const verdict = HOW.test(text)
    ? []
    : (["met", "missed", "regressed", "inconclusive"] as const).filter((each) => has(each));
  // Promises fail by not being kept.
  const failed = has("failed") && has("outcome") ? (["missed", "regressed"] as const) : [];
  const verdicts = [...new Set([...verdict, ...failed])];
  const judged: ChangeFilter = {
    ...(verdicts.length > 0 && { verdict: verdicts }),
    ...(has("early") && { verdict: "too_early" as const }),
    ...(has("drifted") && { drifted: true }),
    ...(has("emergency") && { emergency: true }),
    ...(UNREASONED.test(text) && { reasoned: false }),
    ...(has("irreversible") && { reversible: false }),
    ...(has("reversible") && !has("irreversible") && { reversible: true }),
  };
  if (has("pending") && periods.length === 0) return { ...judged, status: "pending_consent" };
  if (has("ready") && !has("failed")) return { ...judged, status: "approved" };
  if (has("waits") && ((has("how_many") && deed === undefined) || (isOfTheirs && (deed ?? "proposed") === "proposed")))
    return { ...judged, status: ["pending_consent", "approved"] };
  if (has("open")) return { ...judged, status: ["pending_consent", "approved"] };
  if (has("live") && periods.length === 0) return { ...judged, status: "applied" };
  if (deed === undefined) return judged;
  const period = { of: EVENT_OF[deed] };
  if (deed === "proposed" && Object.keys(judged).length > 0) return judged;
  // A verdict is of what was applied in any case.
  if (deed === "applied" && verdict.length > 0 && periods.length === 0) return judged;
  if (!(deed in ENDS)) return { ...judged, period };
  const ends = Object.entries(ENDS).filter(([end]) => has(end as Sense));
  return { ...judged, period, resolution: [...new Set(ends.flatMap(([, resolutions]) => resolutions))] };
}

const FIRST =
  /(?:newest|latest|oldest|last|first|最新|最近|最早|前)的?\s*(\d{1,2}|two|three|four|five|ten|[两三四五十])(?=\s|个|条|项)/i;
const MORE = /(more than|over|above|at least|超过|多于|大于|至少)\s*(\d+)/i;
const LESS = /(?:less than|fewer than|under|below|at most|up to|不到|少于|小于|至多)\s*(\d+)/i;

/** How many people are to be affected, and the number as it was written. */
function usersIn({
  text,
  has,
}: Question): { asked: NonNullable<ChangeFilter["affected_users"]>; words: string } | undefined {
  if (!has("reach") && !/\busers?\b|用户/i.test(text)) return undefined;
  const [, how, more] = MORE.exec(text) ?? [];
  if (more !== undefined) return { asked: { from: Number(more) + Number(!/least|至少/i.test(how!)) }, words: more };
  const [below, less] = LESS.exec(text) ?? [];
  return less === undefined
    ? undefined
    : { asked: { to: Number(less) - Number(!/most|up to|至多/i.test(below!)) }, words: less };
}

const KINDS = ["config", "workflow", "feature_flag", "code_patch", "experiment"] as const;

function ofWords({ has }: Question): ChangeFilter {
  const risk = (["low", "medium", "high"] as const).filter((each) => has(each));
  const tier = (["minor", "standard", "major"] as const).filter((each) => has(each));
  const kind = KINDS.filter((each) => has(each));
  const by = [...(has("models") ? ["model" as const] : []), ...(has("agents") ? ["agent" as const] : [])];
  return {
    ...(risk.length > 0 && { risk }),
    ...(tier.length > 0 && { tier }),
    ...(kind.length > 0 && { kind }),
    ...(by.length > 0 && { proposer_kind: by }),
  };
}
