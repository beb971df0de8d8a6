/** Compares two intents: what may be done under the new one that could not be under the old one, and what no longer. */
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import { type Intent, kpiNames } from "../../lib/changes/rules/intent.ts";
import { describeGuardrail } from "../../lib/changes/rules/rules_in_force.ts";
import { compareActions } from "./actions.ts";
import { compareConsent } from "./consent.ts";
import { byEffect, type Difference, difference } from "./difference.ts";
import { compareTimes } from "./times.ts";
import { collectUniverse } from "./universe.ts";

/** Lists the differences, what may now be done first, and the gravest of that first. */
export function diffIntents(old: Intent, next: Intent): Difference[] {
  const universe = collectUniverse([old, next]);
  const found = [
    ...compareIdentity(old, next),
    ...compareConsent(old, next, universe),
    ...compareActions(old, next, universe),
    ...compareTimes(old, next, universe),
    ...compareKpis(old, next),
  ];
  const all = [...found, ...unexplained(old, next, found)];
  const order = ["wider", "narrower", "other"];
  return all.toSorted((a, b) => order.indexOf(a.effect) - order.indexOf(b.effect) || a.gravity - b.gravity);
}

function compareIdentity(old: Intent, next: Intent): Difference[] {
  const isOther = old.product_id !== next.product_id;
  const isNotNewer = next.update_epoch <= old.update_epoch;
  return [
    ...(isOther
      ? [difference("product_id", 0, "other", `The product is now ${next.product_id}; it was ${old.product_id}.`)]
      : []),
    ...(isNotNewer
      ? [
          difference(
            "update_epoch",
            0,
            "other",
            `update_epoch is ${next.update_epoch} after ${old.update_epoch}: raise it, or the service rejects the new intent.`,
          ),
        ]
      : []),
  ];
}

/** Compares KPIs and the guardrails that watch them. */
function compareKpis(old: Intent, next: Intent): Difference[] {
  const guardrails = (intent: Intent) => intent.policy.guardrails.map(describeGuardrail);
  const goals = (intent: Intent, name: string) => canonicalJson(intent.kpis[name] ?? null);
  const [was, is] = [kpiNames(old), kpiNames(next)];
  const changed = was.filter((name) => is.includes(name) && goals(old, name) !== goals(next, name));
  const has = (list: readonly string[]) => (one: string) => list.includes(one);
  const [before, after] = [guardrails(old), guardrails(next)];
  return [
    ...byEffect([...new Set([...was, ...is])], [has(was), has(is)]).map(([effect, names]) =>
      difference("kpis", 5, "other", `${names.join(", ")} may ${effect === "wider" ? "now" : "no longer"} be fed.`),
    ),
    ...changed.map((name) => difference("kpis", 5, "other", `${name} has another goal.`)),
    ...byEffect([...new Set([...before, ...after])], [has(before), has(after)]).flatMap(([effect, rules]) =>
      rules.map((rule) =>
        effect === "wider"
          ? difference("policy.guardrails", 3, "narrower", `There is now a guardrail: ${rule}.`)
          : difference("policy.guardrails", 3, "wider", `There is no longer a guardrail: ${rule}.`),
      ),
    ),
  ];
}

/** Fields of `policy` whose rules are compared by what they decide. */
const COMPARED: ReadonlySet<string> = new Set(
  "minor required_approvers approvers permissions self_approval signed_only consent_ttl_hours owners approval_ttl_hours on_stale on_moved on_drift windows break_glass on_conflict forbidden_targets guardrails".split(
    " ",
  ),
);

/** Names rules that are written differently and that no other difference is about. */
function unexplained(old: Intent, next: Intent, found: readonly Difference[]): Difference[] {
  const rules = (intent: Intent): Record<string, unknown> => {
    const { signing: _, groups: __, ...policy } = intent.policy;
    return Object.fromEntries(Object.entries(policy).map(([field, rule]) => [`policy.${field}`, rule]));
  };
  const [was, is] = [rules(old), rules(next)];
  const fields = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  return fields
    .filter((field) => canonicalJson(was[field] ?? null) !== canonicalJson(is[field] ?? null))
    .filter((field) => !found.some((one) => one.field === field || one.field.startsWith(`${field}.`)))
    .map((field) =>
      COMPARED.has(field.replace("policy.", ""))
        ? difference(field, 7, "other", `${field} is written differently, and nothing follows from it.`)
        : difference(field, 6, "other", `${field} differs; read it in both.`),
    );
}
