/** From what a question says to the query that it asks. */
import { POLICY_GUARDRAIL } from "../../governance/rules/actor.ts";
import type { Resolution } from "../../governance/rules/change.ts";
import type { ChangeFilter } from "../../pulse/query/filter.ts";
import type { Event, Row } from "../../pulse/query/row.ts";
import { type Deed, DEEDS, deedOf } from "./deeds.ts";
import { isOnHost, peopleIn, together } from "./people.ts";
import type { Question } from "./read.ts";
import type { Sense } from "./senses.ts";
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
}

/** The query that a question asks, over what was looked at. `asker`: whoever says "I". */
export function planOf(question: Question, rows: readonly Row[], asker: string | null): Plan {
  const { has } = question;
  const deed = DEEDS.find((each) => has(each));
  const { first, others } = together(question, peopleIn(question, asker));
  const left = [
    ...alternativesTo(deed, question),
    ...others.map(({ name }) => name),
    ...question.periods.slice(1).map(({ from, to }) => `${from}…${to}`),
  ];
  const filter: ChangeFilter = {
    ...ofNames(question, rows, left),
    ...ofState(question, deed),
    ...ofWords(question),
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
  const text = textOf(question, filter, rows, left);
  if (text !== undefined) filter.text = text;
  const narrowing = Object.keys(filter).filter((field) => field !== "period" || period !== undefined);
  return {
    filter,
    deed,
    doer: doer && { name: doer.name, deed: doer.deed as "applied" | "rolled_back" },
    isNarrow: narrowing.length > 0 || doer !== undefined,
    left,
  };
}

/** What may have happened instead, by the question, and is not in the query: how something ended is, in each way. */
function alternativesTo(deed: Deed | undefined, { tokens }: Question): string[] {
  return tokens.flatMap((token, place) => {
    if (!/^(?:or|或|或者)$/.test(token.words)) return [];
    const sides = [tokens[place - 1], tokens[place + 1]];
    const [before, behind] = sides.map(deedOf);
    if (!before || !behind || before === behind || (before in ENDS && behind in ENDS)) return [];
    return sides.flatMap((side) => (side && deedOf(side) !== deed ? [side.words] : []));
  });
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

/** What happened to them, and how they stand. */
function ofState({ has, periods }: Question, deed: Deed | undefined): ChangeFilter {
  const verdict = (["met", "missed", "regressed", "inconclusive"] as const).filter((each) => has(each));
  const judged: ChangeFilter = {
    ...(verdict.length > 0 && { verdict }),
    ...(has("early") && { verdict: "too_early" as const }),
    ...(has("drifted") && { drifted: true }),
    ...(has("emergency") && { emergency: true }),
  };
  if (has("pending") && periods.length === 0) return { ...judged, status: "pending_consent" };
  if (has("ready")) return { ...judged, status: "approved" };
  if (has("how_many") && has("waits") && deed === undefined)
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

/** How what was never applied ended; what is approved and runs out of time has lapsed. */
const ENDS: Readonly<Partial<Record<Deed, readonly Resolution[]>>> = {
  denied: ["denied"],
  expired: ["expired", "lapsed"],
  lapsed: ["lapsed"],
  withdrawn: ["withdrawn"],
  revoked: ["revoked"],
};

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
