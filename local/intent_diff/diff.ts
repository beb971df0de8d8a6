/** Compares two intents by what people and agents may do under each. */
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import { type Intent, listKpiNames } from "../../lib/changes/rules/intent.ts";
import { requireApplyWhen } from "../../lib/changes/rules/apply_when.ts";
import { describeGuardrail, describeValueRule } from "../../lib/changes/rules/describe_rules.ts";
import { compareActions } from "./actions.ts";
import { compareConsent } from "./consent.ts";
import { groupByEffect, type Difference, createDifference, isAccepted } from "./difference.ts";
import { compareTimes } from "./times.ts";
import { collectUniverse } from "./universe.ts";

/** Lists the differences: first those that allow more, then those that allow less, then others; each by gravity, 0 first. */
export function diffIntents(old: Intent, next: Intent): Difference[] {
  const universe = collectUniverse([old, next]);
  const differences = [
    ...compareIdentity(old, next),
    ...compareConsent(old, next, universe),
    ...compareActions(old, next, universe),
    ...compareTimes(old, next, universe),
    ...compareAutomation(old, next),
    ...compareValues(old, next),
    ...compareKpis(old, next),
  ];
  const all = [...differences, ...findUnexplained(old, next, differences)];
  const order = ["wider", "narrower", "other"];
  return all.toSorted((a, b) => order.indexOf(a.effect) - order.indexOf(b.effect) || a.gravity - b.gravity);
}

function compareIdentity(old: Intent, next: Intent): Difference[] {
  const isOther = old.product_id !== next.product_id;
  const isNotNewer = next.update_epoch <= old.update_epoch;
  return [
    ...(isOther
      ? [createDifference("product_id", 0, "other", `The product is now ${next.product_id}; it was ${old.product_id}.`)]
      : []),
    ...(isNotNewer
      ? [
          createDifference(
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
  const describeGuardrails = (intent: Intent) => intent.policy.guardrails.map(describeGuardrail);
  const formatGoals = (intent: Intent, name: string) => canonicalJson(intent.kpis[name] ?? null);
  const [was, is] = [listKpiNames(old), listKpiNames(next)];
  const changed = was.filter((name) => is.includes(name) && formatGoals(old, name) !== formatGoals(next, name));
  const isIn = (list: readonly string[]) => (one: string) => list.includes(one);
  const [before, after] = [describeGuardrails(old), describeGuardrails(next)];
  return [
    ...groupByEffect([...new Set([...was, ...is])], [isIn(was), isIn(is)]).map(([effect, names]) =>
      createDifference(
        "kpis",
        5,
        "other",
        `${names.join(", ")} may ${effect === "wider" ? "now" : "no longer"} be fed.`,
      ),
    ),
    ...changed.map((name) => createDifference("kpis", 5, "other", `${name} has another goal.`)),
    ...compareSentences("policy.guardrails", [before, after], "a guardrail"),
  ];
}

/** Compares rules that restrict changes, each as a sentence; `ruleKind` such as `a guardrail`. */
const compareSentences = (
  field: string,
  [old, next]: readonly [old: readonly string[], next: readonly string[]],
  ruleKind: string,
): Difference[] =>
  groupByEffect([...new Set([...old, ...next])], [(rule) => old.includes(rule), (rule) => next.includes(rule)]).flatMap(
    ([effect, rules]) =>
      rules.map((rule) =>
        effect === "wider"
          ? createDifference(field, 3, "narrower", `There is now ${ruleKind}: ${rule}.`)
          : createDifference(field, 3, "wider", `There is no longer ${ruleKind}: ${rule}.`),
      ),
  );

/** Compares the rules for values. */
const compareValues = (old: Intent, next: Intent): Difference[] =>
  compareSentences(
    "policy.targets",
    [old.policy.targets.flatMap(describeValueRule), next.policy.targets.flatMap(describeValueRule)],
    "a rule for values",
  );

const AUTOMATIONS = {
  approved: "by themselves as soon as they are approved",
  scheduled: "by themselves at a time",
} as const;

/** Compares when changes may apply by themselves. */
function compareAutomation(old: Intent, next: Intent): Difference[] {
  // Any moment: only the scheduled time, which is after it, refers to it.
  const now = Date.UTC(2026, 0, 5);
  const canApply = (mode: string, { policy }: Intent): boolean => {
    const apply_when = mode === "scheduled" ? new Date(now + 1).toISOString() : mode;
    return isAccepted(() => requireApplyWhen({ apply_when }, policy, now));
  };
  return (Object.entries(AUTOMATIONS) as [string, string][]).flatMap(([mode, manner]) => {
    const [was, is] = [canApply(mode, old), canApply(mode, next)];
    if (was === is) return [];
    const text = `Changes may ${is ? "now" : "no longer"} apply ${manner}, where their proposal says so.`;
    return [createDifference("policy.apply_when", 2, is ? "wider" : "narrower", text)];
  });
}

/** Fields of `policy` that other functions compare by their effects. */
const COMPARED: ReadonlySet<string> = new Set(
  "minor required_approvers approvers permissions self_approval signed_only consent_ttl_hours owners approval_ttl_hours on_stale on_moved on_drift windows break_glass on_conflict forbidden_targets guardrails apply_when targets".split(
    " ",
  ),
);

/** Lists fields of `policy` that differ and that no other difference explains. */
function findUnexplained(old: Intent, next: Intent, differences: readonly Difference[]): Difference[] {
  const listRules = (intent: Intent): Record<string, unknown> => {
    // `signing` is derived from principals and `signed_only`, and `groups` are expanded into the lists of people.
    const { signing: _, groups: __, ...policy } = intent.policy;
    return Object.fromEntries(Object.entries(policy).map(([field, rule]) => [`policy.${field}`, rule]));
  };
  const [was, is] = [listRules(old), listRules(next)];
  const fields = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  return fields
    .filter((field) => canonicalJson(was[field] ?? null) !== canonicalJson(is[field] ?? null))
    .filter((field) => !differences.some((one) => one.field === field || one.field.startsWith(`${field}.`)))
    .map((field) =>
      COMPARED.has(field.replace("policy.", ""))
        ? createDifference(field, 7, "other", `${field} is written differently, and has the same effect.`)
        : createDifference(field, 6, "other", `${field} differs; compare it in both files.`),
    );
}
