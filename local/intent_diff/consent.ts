/** Compares who must consent to a change: forbidden targets, quorum, owners, deciders, minor changes. */
import { listMissingOrdinaryConsents, QUORUM } from "../../lib/changes/rules/missing_consents.ts";
import { type Actor, signerActor } from "../../lib/changes/rules/actor.ts";
import { KINDS, RISKS } from "../../lib/changes/rules/change_terms.ts";
import type { ProposeInput } from "../../lib/changes/rules/command.ts";
import type { Intent } from "../../lib/changes/rules/intent.ts";
import { listRequiredGroups } from "../../lib/changes/rules/idp_groups.ts";
import { isForbiddenSelfApproval, isDecider, requireAllowedTarget } from "../../lib/changes/rules/policy.ts";
import { listAgents } from "../../lib/changes/rules/principals.ts";
import { createProposedContent } from "../../lib/changes/rules/propose.ts";
import { canSign, requiresSignature } from "../../lib/changes/rules/signing.ts";
import {
  type TargetDifference,
  compareTargets,
  groupByEffect,
  type Difference,
  createDifference,
  type Effect,
  compareNumbers,
  isAccepted,
} from "./difference.ts";
import { ANY_OTHER_PERSON, makeChange, describeNames, type TargetClass, type Universe } from "./universe.ts";

const formatConsents = (count: number): string => (count === 1 ? "1 consent" : `${count} consents`);

const isAllowed = (target: TargetClass, { policy }: Intent): boolean =>
  isAccepted(() => requireAllowedTarget(makeChange(target), policy));

/** Lists the differences in what a change needs before it may be applied. */
export function compareConsent(old: Intent, next: Intent, universe: Universe): Difference[] {
  // For a target that one of the intents forbids, no other rule matters.
  const targets = universe.targets.filter((target) => isAllowed(target, old) && isAllowed(target, next));
  const allowed = { ...universe, targets };
  return [
    ...compareTargets("policy.forbidden_targets", 1, universe, (target) => {
      const [was, is] = [isAllowed(target, old), isAllowed(target, next)];
      if (was === is) return undefined;
      return is
        ? { effect: "wider", text: "Changes of {} may now be proposed and applied; nobody could." }
        : { effect: "narrower", text: "Nobody may change {} any longer." };
    }),
    ...compareQuorum(old, next, allowed),
    ...compareTargets("policy.owners", 2, allowed, (target) => compareOwners(target, old, next)),
    ...compareMinor(old, next, allowed),
    ...compareDeciders(old, next, allowed),
    ...compareSigning(old, next, universe),
  ];
}

function compareQuorum(old: Intent, next: Intent, universe: Universe): Difference[] {
  // The quorum is the same for all targets, so any of them shows it.
  const needed = (tier: "standard" | "major", intent: Intent): number =>
    listMissingOrdinaryConsents(makeChange(universe.targets[0]!, { tier }), intent).find(({ rule }) => rule === QUORUM)
      ?.count ?? 0;
  return (["standard", "major"] as const).flatMap((tier) => {
    if (universe.targets.length === 0) return [];
    // A larger quorum is narrower, so `compareNumbers` gets the numbers swapped.
    const [was, is] = [needed(tier, old), needed(tier, next)];
    const text = `A ${tier} change now needs ${formatConsents(is)}; it needed ${was}.`;
    return was === is ? [] : [createDifference(`policy.required_approvers.${tier}`, 2, compareNumbers(is, was), text)];
  });
}

/** Lists the owner rules of a target: the number of consents, and the owners. */
const listOwnerRules = (target: TargetClass, intent: Intent) =>
  listMissingOrdinaryConsents(makeChange(target), intent)
    .filter(({ rule }) => rule !== QUORUM)
    .map(({ count, of }) => ({ count, of: of.toSorted() }));

type OwnersRule = ReturnType<typeof listOwnerRules>[number];

function compareOwners(target: TargetClass, old: Intent, next: Intent): TargetDifference[] {
  const [was, is] = [listOwnerRules(target, old), listOwnerRules(target, next)];
  const describeRule = ({ count, of }: OwnersRule) => `${formatConsents(count)} of ${describeNames(of)}`;
  /** Checks that a rule among `by` needs at least as many consents, and of no other people. */
  const isMet = (rule: OwnersRule, by: readonly OwnersRule[]) =>
    by.some(({ count, of }) => count >= rule.count && of.every((name) => rule.of.includes(name)));
  return [
    ...was
      .filter((rule) => !isMet(rule, is))
      .map((rule): TargetDifference => ({
        effect: "wider",
        text: `A change of {} no longer needs ${describeRule(rule)}.`,
      })),
    ...is
      .filter((rule) => !isMet(rule, was))
      .map((rule): TargetDifference => ({
        effect: "narrower",
        text: `A change of {} now needs ${describeRule(rule)}.`,
      })),
  ];
}

function compareDeciders(old: Intent, next: Intent, universe: Universe): Difference[] {
  const decides = (intent: Intent, target: TargetClass) => (name: string) =>
    isDecider(makeChange(target), name, intent) && canSign(name, intent.policy.signing);
  return compareTargets("policy.approvers", 3, universe, (target) =>
    groupByEffect(universe.names, [decides(old, target), decides(next, target)]).map(([effect, names]) => ({
      effect,
      text:
        effect === "wider"
          ? `Changes of {} may now be approved and denied by ${describeNames(names)}.`
          : `Changes of {} may no longer be approved and denied by ${describeNames(names)}.`,
    })),
  );
}

function compareSigning(old: Intent, next: Intent, { names }: Universe): Difference[] {
  const canDecideUnsigned = (intent: Intent) => (name: string) => !requiresSignature(name, intent.policy.signing);
  const unsigned = groupByEffect(names, [canDecideUnsigned(old), canDecideUnsigned(next)]).map(([effect, changed]) =>
    createDifference(
      changed.includes(ANY_OTHER_PERSON) ? "policy.signed_only" : "principals.keys",
      3,
      effect,
      `Decisions of ${describeNames(changed)} ${effect === "wider" ? "need no longer" : "must now"} be signed.`,
    ),
  );
  return [
    ...unsigned,
    ...names.flatMap((name) => compareKeys(name, old, next)),
    ...names.flatMap((name) => compareGroups(name, old, next)),
    ...compareSelfApproval(old, next),
  ];
}

function compareKeys(name: string, old: Intent, next: Intent): Difference[] {
  const [was, is] = [old, next].map(({ policy }) => (policy.signing.keys[name] ?? []).map(({ id }) => id)) as [
    string[],
    string[],
  ];
  return groupByEffect([...new Set([...was, ...is])], [(id) => was.includes(id), (id) => is.includes(id)]).map(
    ([effect, keys]) =>
      createDifference(
        "principals.keys",
        3,
        effect,
        `${JSON.stringify(name)} may ${effect === "wider" ? "now" : "no longer"} sign with ${keys.join(", ")}.`,
      ),
  );
}

/** Compares the groups of the identity provider that a person's token must state. */
function compareGroups(name: string, old: Intent, next: Intent): Difference[] {
  const [was, is] = [listRequiredGroups(name, old), listRequiredGroups(name, next)];
  const [ended, added] = [was.filter((one) => !is.includes(one)), is.filter((one) => !was.includes(one))];
  const describeChanged = (needs: string, groups: readonly string[]): string =>
    `What ${JSON.stringify(name)} decides ${needs} a token with ${groups.join(", ")} of the identity provider.`;
  return [
    ...(ended.length > 0
      ? [createDifference("principals.idp", 3, "wider", describeChanged("no longer needs", ended))]
      : []),
    ...(added.length > 0
      ? [createDifference("principals.idp", 3, "narrower", describeChanged("now needs", added))]
      : []),
  ];
}

function compareSelfApproval(old: Intent, next: Intent): Difference[] {
  const change = makeChange({ target: "*", tenant: "" }, { proposer: ANY_OTHER_PERSON });
  const [wasForbidden, isForbidden] = [old, next].map(({ policy }) =>
    isForbiddenSelfApproval(change, ANY_OTHER_PERSON, policy),
  );
  if (wasForbidden === isForbidden) return [];
  return [
    wasForbidden
      ? createDifference("policy.self_approval", 2, "wider", "Proposers may now approve their own changes.")
      : createDifference("policy.self_approval", 2, "narrower", "Nobody may approve their own change any longer."),
  ];
}

/** Used for a missing limit. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** Bounds of a minor change of one kind. */
interface MinorLimits {
  users: number;
  risk: number;
  per_day: number;
  /** True if a minor change may apply automatically. */
  automatic: boolean;
}

function compareMinor(old: Intent, next: Intent, universe: Universe): Difference[] {
  const limits = [old, next].map(({ policy }) => policy.minor);
  /** Lists the possible values of a limit: those of the two intents, and no limit. */
  const listCounts = (field: "max_affected_users" | "max_per_day") =>
    limits.flatMap((minor) => minor?.[field] ?? []).concat(NO_LIMIT);
  const isMinor = (
    target: TargetClass,
    input: Partial<ProposeInput>,
    minor_today: number,
    intent: Intent,
    actor: Actor,
  ) => {
    // The tier depends on these fields only, so the others of a proposal are left out.
    const stated = { tier: "minor", affected_users: 0, risk: "low", reversible: true, proposer: actor.actor, ...input };
    const proposal = { ...makeChange(target), ...stated } as unknown as ProposeInput;
    const proposalInput = { input: proposal, minor_today, rolled_back: undefined, seen: undefined };
    return (
      createProposedContent(proposalInput as Parameters<typeof createProposedContent>[0], { intent, actor }).tier ===
      "minor"
    );
  };
  const person = signerActor(ANY_OTHER_PERSON);
  const findMaximum = (all: readonly number[], isAllowedCount: (count: number) => boolean) =>
    Math.max(0, ...all.filter(isAllowedCount));
  const findLimits = (target: TargetClass, kind: ProposeInput["kind"], intent: Intent): MinorLimits | undefined => {
    const passes = (input: object, today = 0) => isMinor(target, { kind, ...input }, today, intent, person);
    if (!passes({})) return undefined;
    return {
      users: findMaximum(listCounts("max_affected_users"), (affected_users) => passes({ affected_users })),
      risk: findMaximum([...RISKS.keys()], (risk) => passes({ risk: RISKS[risk] })),
      // A number is allowed if a change is still minor as the last of so many on its day.
      per_day: findMaximum(listCounts("max_per_day"), (count) => count > 0 && passes({}, count - 1)),
      automatic: passes({ apply_when: "approved" }),
    };
  };
  const formatKinds = (changed: readonly string[]) => `of the kind ${changed.join(", ")}`;
  const differences = compareTargets("policy.minor", 1, universe, (target) => {
    const byText = new Map<string, { effect: Effect; kinds: string[] }>();
    const addText = (effect: Effect, text: string, kind: string) =>
      byText.set(text, { effect, kinds: [...(byText.get(text)?.kinds ?? []), kind] });
    for (const kind of KINDS) {
      const [was, is] = [findLimits(target, kind, old), findLimits(target, kind, next)];
      if (!was && is) addText("wider", "may now be minor, which needs no consent.", kind);
      if (was && !is) addText("narrower", "may no longer be minor, and need consent.", kind);
      if (!was || !is) continue;
      const formatCount = (count: number) => (count === NO_LIMIT ? "any number of" : `${count}`);
      if (was.users !== is.users)
        addText(
          compareNumbers(was.users, is.users),
          `may now reach ${formatCount(is.users)} users and be minor; it was ${formatCount(was.users)}.`,
          kind,
        );
      if (was.risk !== is.risk)
        addText(
          compareNumbers(was.risk, is.risk),
          `may now be minor with a risk of ${RISKS[is.risk]} at most; it was ${RISKS[was.risk]}.`,
          kind,
        );
      if (was.automatic !== is.automatic)
        addText(
          is.automatic ? "wider" : "narrower",
          `may ${is.automatic ? "now" : "no longer"} be minor and apply by themselves.`,
          kind,
        );
      if (was.per_day !== is.per_day)
        addText(
          compareNumbers(was.per_day, is.per_day),
          `may now be minor ${formatCount(is.per_day)} times a day; it was ${formatCount(was.per_day)}.`,
          kind,
        );
    }
    return [...byText].map(([text, { effect, kinds: changed }]) => ({
      effect,
      text: `Changes of {} ${formatKinds(changed)} ${text}`,
    }));
  });
  return [...differences, ...compareAgentsMinor(old, next, universe, isMinor)];
}

/** Compares if proposals of agents may be minor, where proposals of people may be. */
function compareAgentsMinor(
  old: Intent,
  next: Intent,
  universe: Universe,
  isMinor: (target: TargetClass, input: object, today: number, intent: Intent, actor: Actor) => boolean,
): Difference[] {
  const canBeMinor = (intent: Intent): boolean => {
    // The prefix makes any name that of an agent, also where the intent lists none.
    const [agent = { name: "agent:one" }] = listAgents(intent);
    const actors: Actor[] = [{ actor: agent.name, authenticated: "agent" }, signerActor(ANY_OTHER_PERSON)];
    return universe.targets.some((target) =>
      KINDS.some((kind) => actors.every((actor) => isMinor(target, { kind }, 0, intent, actor))),
    );
  };
  const [was, is] = [canBeMinor(old), canBeMinor(next)];
  if (was === is) return [];
  return [
    createDifference(
      "policy.minor.agents",
      1,
      is ? "wider" : "narrower",
      is
        ? "An agent's proposal may now be minor, which needs no consent."
        : "No agent's proposal may be minor any longer.",
    ),
  ];
}
