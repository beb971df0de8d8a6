/**
 * Compares permissions, emergency approvers and agents. The numbers are the gravity of a difference, from 0, the gravest; `{}` in a
 * text stands for its targets.
 */
import { requireAgentScope } from "../../lib/changes/rules/agent_scope.ts";
import { requireEmergencyApprover } from "../../lib/changes/rules/break_glass.ts";
import { KINDS } from "../../lib/changes/rules/change_terms.ts";
import type { ProposeInput } from "../../lib/changes/rules/command.ts";
import type { Intent } from "../../lib/changes/rules/intent.ts";
import type { PermissionAction } from "../../lib/changes/rules/permission_lists.ts";
import { listPermittedNames, requirePermission } from "../../lib/changes/rules/permissions.ts";
import { findAgentLimits, listAgents } from "../../lib/changes/rules/principals.ts";
import { ACTION_TEXTS } from "../../lib/changes/rules/describe_rules.ts";
import {
  compareTargets,
  groupByEffect,
  type Difference,
  createDifference,
  compareNumbers,
  isAccepted,
} from "./difference.ts";
import { ANY_OTHER_PERSON, makeChange, describeNames, type TargetClass, type Universe } from "./universe.ts";

/** Lists the differences in permissions, emergency approvers and agents. */
export const compareActions = (old: Intent, next: Intent, universe: Universe): Difference[] => [
  ...comparePermissions(old, next, universe),
  ...compareEmergency(old, next, universe),
  ...compareAgents(old, next, universe),
];

function comparePermissions(old: Intent, next: Intent, { names }: Universe): Difference[] {
  const hasPermission = (action: PermissionAction, intent: Intent) => (name: string) =>
    isAccepted(() => requirePermission(action, { actor: name, authenticated: "proxy" }, intent));
  return (Object.entries(ACTION_TEXTS) as [PermissionAction, string][]).flatMap(([action, subject]) =>
    groupByEffect(names, [hasPermission(action, old), hasPermission(action, next)]).map(([effect, changed]) =>
      createDifference(
        `policy.permissions.${action === "note" ? "notes" : action}`,
        2,
        effect,
        effect === "wider"
          ? `${capitalize(subject)} now also by ${describeNames(changed)}.`
          : `${capitalize(subject)} no longer by ${describeNames(changed)}${formatRemaining(listPermittedNames(action, next))}.`,
      ),
    ),
  );
}

const formatRemaining = (names: readonly string[] | undefined): string =>
  names === undefined ? "" : `, only by ${describeNames(names)}`;

const capitalize = (text: string): string => text[0]!.toUpperCase() + text.slice(1);

function compareEmergency(old: Intent, next: Intent, { names }: Universe): Difference[] {
  const canApprove = (intent: Intent) => (name: string) =>
    isAccepted(() =>
      requireEmergencyApprover(makeChange({ target: "*", tenant: "" }, { proposer: ANY_OTHER_PERSON }), name, intent),
    );
  const people = names.filter((name) => name !== ANY_OTHER_PERSON);
  const [was, is] = [old.policy.break_glass, next.policy.break_glass];
  const field = "policy.break_glass";
  return [
    ...groupByEffect(people, [canApprove(old), canApprove(next)]).map(([effect, changed]) =>
      createDifference(
        `${field}.approvers`,
        2,
        effect,
        `In an emergency, which passes windows and a freeze, ${describeNames(changed)} may ${effect === "wider" ? "now" : "no longer"} approve.`,
      ),
    ),
    ...(was && is && was.required !== is.required
      ? [
          createDifference(
            `${field}.required`,
            2,
            // In this order, since fewer consents are wider.
            compareNumbers(is.required, was.required),
            `An emergency now needs ${is.required === 1 ? "1 consent" : `${is.required} consents`}; it needed ${was.required}.`,
          ),
        ]
      : []),
    ...(was && is && was.review_hours !== is.review_hours
      ? [
          createDifference(
            `${field}.review_hours`,
            4,
            compareNumbers(was.review_hours, is.review_hours),
            `An emergency is now to be reviewed within ${is.review_hours} hours; it was ${was.review_hours}.`,
          ),
        ]
      : []),
  ];
}

function compareAgents(old: Intent, next: Intent, universe: Universe): Difference[] {
  const findSecretHash = (name: string, intent: Intent) =>
    listAgents(intent).find((agent) => agent.name === name)?.token_sha256;
  const names = [...new Set([old, next].flatMap((intent) => listAgents(intent).map(({ name }) => name)))];
  return names.flatMap((name): Difference[] => {
    const field = `principals.${name}`;
    const quotedName = JSON.stringify(name);
    const [was, is] = [findSecretHash(name, old), findSecretHash(name, next)];
    if (was === undefined) {
      const scope = compareTargets(field, 2, universe, (target) =>
        describeScope(target, name, next, `The agent ${quotedName} may now propose changes of {}`, "wider"),
      );
      return [
        ...scope,
        createDifference(field, 3, "wider", `The agent ${quotedName} is new; ${describeLimits(name, next)}.`),
      ];
    }
    if (is === undefined)
      return [
        createDifference(field, 2, "narrower", `${quotedName} is no agent any longer, and its secret opens nothing.`),
      ];
    return [
      ...compareTargets(`${field}.may`, 2, universe, (target) => {
        const canPropose = (intent: Intent) => (kind: string) => isInScope(target, kind, name, intent);
        return groupByEffect(KINDS, [canPropose(old), canPropose(next)]).map(([effect, kinds]) => ({
          effect,
          text: `The agent ${quotedName} may ${effect === "wider" ? "now" : "no longer"} propose changes of {}${formatKinds(kinds)}.`,
        }));
      }),
      ...(["max_open", "max_per_day"] as const).flatMap((limit) => {
        const [before, after] = [findAgentLimits(name, old)[limit], findAgentLimits(name, next)[limit]];
        const activity = limit === "max_open" ? "have open changes" : "propose changes a day";
        const text = `The agent ${quotedName} may now ${activity}, ${after} at most; it was ${before}.`;
        return before === after
          ? []
          : [createDifference(`${field}.may.${limit}`, 3, compareNumbers(before, after), text)];
      }),
      ...compareReads(name, old, next),
      ...(was === is
        ? []
        : [createDifference(`${field}.token_sha256`, 3, "other", `The agent ${quotedName} has another secret.`)]),
    ];
  });
}

function compareReads(name: string, old: Intent, next: Intent): Difference[] {
  const [before, after] = [findAgentLimits(name, old).read, findAgentLimits(name, next).read];
  if (before === after) return [];
  const [readable, effect] =
    after === "all"
      ? (["every change", "wider"] as const)
      : (["only the changes that it proposed", "narrower"] as const);
  return [
    createDifference(
      `principals.${name}.may.read`,
      2,
      effect,
      `The agent ${JSON.stringify(name)} may now read ${readable}.`,
    ),
  ];
}

const describeLimits = (name: string, intent: Intent): string => {
  const { max_open, max_per_day, read } = findAgentLimits(name, intent);
  return `it may read ${read === "own" ? "only the changes that it proposed" : "every change"}, have ${max_open} open changes and propose ${max_per_day} a day at most`;
};

const formatKinds = (kinds: readonly string[]): string =>
  kinds.length === KINDS.length ? "" : ` of the kind ${kinds.join(", ")}`;

const isInScope = (target: TargetClass, kind: string, name: string, intent: Intent): boolean =>
  isAccepted(() => requireAgentScope(name, { ...makeChange(target), kind } as unknown as ProposeInput, intent));

function describeScope(target: TargetClass, name: string, intent: Intent, text: string, effect: "wider") {
  const kinds = KINDS.filter((kind) => isInScope(target, kind, name, intent));
  return kinds.length === 0 ? undefined : { effect, text: `${text}${formatKinds(kinds)}.` };
}
