/** Answers from the intent in force: who may approve, how many are needed, what is forbidden, what holds applies back. */
import { electorsOf } from "../../governance/rules/policy.ts";
import { matchesAny } from "../../governance/rules/names.ts";
import { holdsAt } from "../../governance/rules/hold.ts";
import { shownFreeze } from "../../governance/freeze.ts";
import { type Answer, type Asking, cite, lines } from "./asking.ts";

/** The rules that a question is about; without any, all of them. */
export async function tellPolicy({ deps, question, say }: Asking): Promise<Answer> {
  const { intent, manifest_hash } = deps.product!;
  const { policy } = intent;
  const { has } = question;
  const electors = electorsOf(intent);
  const targets = question.named("target");
  const freeze = await shownFreeze(deps);
  const rules: [boolean, string | readonly string[]][] = [
    [has("approvers", "approved", "may", "needed", "decided"), say.whoMayApprove(electors)],
    [has("approvers", "approved", "needed", "how_many", "decided"), say.howManyNeeded(policy)],
    [has("approvers", "approved", "may", "me", "proposed", "person"), say.selfApproval(policy.self_approval)],
    [has("approvers", "approved", "owners", "target", "may"), policy.owners.map(say.owners)],
    [has("emergency", "reviewed"), say.breakGlass(policy.break_glass)],
    [has("forbidden", "refused"), say.forbidden(policy.forbidden_targets)],
    [has("minor"), say.minor(policy.minor)],
    [has("expired", "lapsed", "overdue", "when", "duration"), say.timeLimits(policy)],
    [has("guardrails"), say.guardrails(policy.guardrails)],
    [
      has("frozen", "windows"),
      [
        say.freeze(freeze),
        ...holdsAt({ ...policy }, undefined, deps.clock.now()).map(({ message }) => message),
        say.windows(policy.windows),
      ],
    ],
  ];
  const asked = rules.filter(([isAsked]) => isAsked);
  const told = (asked.length > 0 && !(has("policy") && asked.length === rules.length) ? asked : rules).map(
    ([, rule]) => rule,
  );
  const whole =
    has("policy") &&
    !has(
      "approvers",
      "approved",
      "forbidden",
      "frozen",
      "windows",
      "guardrails",
      "emergency",
      "minor",
      "expired",
      "me",
    );
  const all = whole ? rules.map(([, rule]) => rule) : told;
  const banned = targets.filter((target) => matchesAny(target, policy.forbidden_targets));
  return {
    text: lines(
      say.intent(intent),
      all.flat(),
      has("forbidden", "may") && targets.length > 0
        ? targets.map((target) => say.isForbidden(target, banned.includes(target)))
        : "",
    ),
    citations: cite("intent", [manifest_hash]),
  };
}
