/** Differences in who may do what apart from deciding: permissions, emergencies, agents. */
import { requireAgentScope } from "../../lib/changes/rules/agent_scope.ts";
import { requireEmergencyApprover } from "../../lib/changes/rules/break_glass.ts";
import { KINDS } from "../../lib/changes/rules/change_terms.ts";
import type { ProposeInput } from "../../lib/changes/rules/command.ts";
import type { Intent } from "../../lib/changes/rules/intent.ts";
import type { PermissionAction } from "../../lib/changes/rules/permission_lists.ts";
import { listPermittedNames, requirePermission } from "../../lib/changes/rules/permissions.ts";
import { findAgentLimits, listAgents } from "../../lib/changes/rules/principals.ts";
import { ACTION_TEXTS } from "../../lib/changes/rules/describe_rules.ts";
import { atPlaces, byEffect, type Difference, difference, compareNumbers, passes } from "./difference.ts";
import { ANYBODY, makeChange, describeNames, type Place, type Universe } from "./universe.ts";

/** Lists the differences in who may act. */
export const compareActions = (old: Intent, next: Intent, universe: Universe): Difference[] => [
  ...comparePermissions(old, next, universe),
  ...compareEmergency(old, next, universe),
  ...compareAgents(old, next, universe),
];

function comparePermissions(old: Intent, next: Intent, { names }: Universe): Difference[] {
  const may = (action: PermissionAction, intent: Intent) => (name: string) =>
    passes(() => requirePermission(action, { actor: name, authenticated: "proxy" }, intent));
  return (Object.entries(ACTION_TEXTS) as [PermissionAction, string][]).flatMap(([action, what]) =>
    byEffect(names, [may(action, old), may(action, next)]).map(([effect, changed]) =>
      difference(
        `policy.permissions.${action === "note" ? "notes" : action}`,
        2,
        effect,
        effect === "wider"
          ? `${sentence(what)} now also by ${describeNames(changed)}.`
          : `${sentence(what)} no longer by ${describeNames(changed)}${stillBy(listPermittedNames(action, next))}.`,
      ),
    ),
  );
}

const stillBy = (names: readonly string[] | undefined): string =>
  names === undefined ? "" : `, only by ${describeNames(names)}`;

const sentence = (text: string): string => text[0]!.toUpperCase() + text.slice(1);

function compareEmergency(old: Intent, next: Intent, { names }: Universe): Difference[] {
  const may = (intent: Intent) => (name: string) =>
    passes(() =>
      requireEmergencyApprover(makeChange({ target: "*", tenant: "" }, { proposer: ANYBODY }), name, intent),
    );
  const people = names.filter((name) => name !== ANYBODY);
  const [was, is] = [old.policy.break_glass, next.policy.break_glass];
  const field = "policy.break_glass";
  return [
    ...byEffect(people, [may(old), may(next)]).map(([effect, changed]) =>
      difference(
        `${field}.approvers`,
        2,
        effect,
        `In an emergency, which passes windows and a freeze, ${describeNames(changed)} may ${effect === "wider" ? "now" : "no longer"} approve.`,
      ),
    ),
    ...(was && is && was.required !== is.required
      ? [
          difference(
            `${field}.required`,
            2,
            compareNumbers(is.required, was.required),
            `An emergency now needs consents of ${is.required}; it needed ${was.required}.`,
          ),
        ]
      : []),
    ...(was && is && was.review_hours !== is.review_hours
      ? [
          difference(
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
  const secretOf = (name: string, intent: Intent) =>
    listAgents(intent).find((agent) => agent.name === name)?.token_sha256;
  const names = [...new Set([old, next].flatMap((intent) => listAgents(intent).map(({ name }) => name)))];
  return names.flatMap((name): Difference[] => {
    const field = `principals.${name}`;
    const shown = JSON.stringify(name);
    const [was, is] = [secretOf(name, old), secretOf(name, next)];
    if (was === undefined) {
      const first = atPlaces(field, 2, universe, (place) =>
        scopeAt(place, name, next, `The agent ${shown} may now propose changes of {}`, "wider"),
      );
      return [...first, difference(field, 3, "wider", `The agent ${shown} is new; ${countsOf(name, next)}.`)];
    }
    if (is === undefined)
      return [difference(field, 2, "narrower", `${shown} is no agent any longer, and its secret opens nothing.`)];
    return [
      ...atPlaces(`${field}.may`, 2, universe, (place) => {
        const may = (intent: Intent) => (kind: string) => isInScope(place, kind, name, intent);
        return byEffect(KINDS, [may(old), may(next)]).map(([effect, kinds]) => ({
          effect,
          text: `The agent ${shown} may ${effect === "wider" ? "now" : "no longer"} propose changes of {}${ofKinds(kinds)}.`,
        }));
      }),
      ...(["max_open", "max_per_day"] as const).flatMap((limit) => {
        const [before, after] = [findAgentLimits(name, old)[limit], findAgentLimits(name, next)[limit]];
        const what = limit === "max_open" ? "have open changes" : "propose changes a day";
        const text = `The agent ${shown} may now ${what}, ${after} at most; it was ${before}.`;
        return before === after ? [] : [difference(`${field}.may.${limit}`, 3, compareNumbers(before, after), text)];
      }),
      ...compareReads(name, old, next),
      ...(was === is
        ? []
        : [difference(`${field}.token_sha256`, 3, "other", `The agent ${shown} has another secret.`)]),
    ];
  });
}

function compareReads(name: string, old: Intent, next: Intent): Difference[] {
  const [before, after] = [findAgentLimits(name, old).read, findAgentLimits(name, next).read];
  if (before === after) return [];
  const [what, effect] =
    after === "all"
      ? (["every change", "wider"] as const)
      : (["only the changes that it proposed", "narrower"] as const);
  return [
    difference(`principals.${name}.may.read`, 2, effect, `The agent ${JSON.stringify(name)} may now read ${what}.`),
  ];
}

const countsOf = (name: string, intent: Intent): string => {
  const { max_open, max_per_day, read } = findAgentLimits(name, intent);
  return `it may read ${read === "own" ? "only the changes that it proposed" : "every change"}, have ${max_open} open changes and propose ${max_per_day} a day at most`;
};

const ofKinds = (kinds: readonly string[]): string =>
  kinds.length === KINDS.length ? "" : ` of the kind ${kinds.join(", ")}`;

const isInScope = (place: Place, kind: string, name: string, intent: Intent): boolean =>
  passes(() => requireAgentScope(name, { ...makeChange(place), kind } as unknown as ProposeInput, intent));

function scopeAt(place: Place, name: string, intent: Intent, text: string, effect: "wider") {
  const kinds = KINDS.filter((kind) => isInScope(place, kind, name, intent));
  return kinds.length === 0 ? undefined : { effect, text: `${text}${ofKinds(kinds)}.` };
}
