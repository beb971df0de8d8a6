/** Verifies the targets of plans: an apply sets all targets that were proposed, a rollback restores some that are still set. */
import type { Finding } from "./chain.ts";
import { decodeUtf8, parseDetail } from "./entry_detail.ts";
import { stringOrUndefined, type JsonObject, isObject } from "./json.ts";
import type { Entry } from "./line.ts";

const OTHER_TARGETS = "the targets in its sets are not those of its content";
const TARGETS_LEFT = "after its rollback a target of its plan is still applied";
const OTHER_STATE = "its host is not the worst state of its targets";
const NO_TARGETS = "its sets is not a valid list of targets of its plan";

/** Lists the keys of the targets that `sets` names; undefined unless they are different and at least `min`. */
export function readTargets(sets: unknown, min = 2): readonly string[] | undefined {
  if (!Array.isArray(sets) || sets.length < min || !sets.every(isObject)) return undefined;
  const keys = sets.map(({ tenant_id, target }: JsonObject) => {
    const names = [stringOrUndefined(tenant_id), stringOrUndefined(target)];
    return names.includes(undefined) ? "" : targetKey(names as [string, string]);
  });
  return keys.includes("") || new Set(keys).size < keys.length ? undefined : keys;
}

/** Returns the key of a target within its tenant. Targets are ASCII and compared without case. */
export const targetKey = ([tenant, target]: [tenant: string, target: string]): string =>
  `${target.replace(/[A-Z]/g, (letter) => letter.toLowerCase())}\n${tenant}`;

/** Events that name the targets of a plan, after its proposal. */
const OPERATIONS: ReadonlySet<string> = new Set([
  "change_applied",
  "change_rolled_back",
  "change_apply_failed",
  "change_rollback_failed",
  "change_drifted",
  "value_restored",
]);
const FAILURES: ReadonlySet<string> = new Set(["change_apply_failed", "change_rollback_failed"]);

/** States of the target system after a failure, worst first; a plan has the worst state of its targets. */
const WORST_FIRST: readonly unknown[] = ["unknown", "applied", "absent", "rolled_back"];

/** The target keys of a plan, and those that are set at present. */
interface PlanState {
  keys: readonly string[];
  applied: Set<string>;
}

/** Creates a check that takes the entries of a log in their order; it remembers the plans. */
export function createPlanCheck() {
  /** By change id, with one character for each byte, as entries have it. */
  const plans = new Map<string, PlanState>();

  const findProblem = ({ eventType, changeId }: Entry, { sets, host }: JsonObject): string | undefined => {
    if (eventType === "change_proposed") return addPlan(changeId, sets);
    const plan = plans.get(changeId);
    if (!plan) return sets === undefined ? undefined : "it has sets, but its change is not a plan";
    if (eventType === "change_drifted") return findUnknownTarget(plan, sets);
    // A failure before the state of any target was known states none.
    if (FAILURES.has(eventType)) return sets === undefined ? undefined : recordFailure(plan, sets, host);
    const keys = readTargets(sets, 1);
    if (!keys) return NO_TARGETS;
    // The owners of restored targets are verified in `owners.ts`.
    if (eventType === "value_restored") return undefined;
    return eventType === "change_applied" ? recordApply(plan, keys) : recordRollback(plan, keys);
  };

  const addPlan = (changeId: string, sets: unknown): string | undefined => {
    if (sets === undefined) return undefined;
    const keys = readTargets(sets);
    if (!keys) return NO_TARGETS;
    plans.set(changeId, { keys, applied: new Set() });
    return undefined;
  };

  const recordApply = (plan: PlanState, keys: readonly string[]): string | undefined => {
    plan.applied = new Set(keys);
    const isAll = keys.length === plan.keys.length && keys.every((key) => plan.keys.includes(key));
    return isAll ? undefined : "the targets in its sets are not those of its plan";
  };

  const recordRollback = (plan: PlanState, keys: readonly string[]): string | undefined =>
    removeTargets(plan, keys) ?? (plan.applied.size > 0 ? TARGETS_LEFT : undefined);

  /** Explains what is wrong with the states of a plan's targets after a failure; removes the targets that it restored. */
  const recordFailure = (plan: PlanState, sets: unknown, host: unknown): string | undefined => {
    const problem = findUnknownTarget(plan, sets);
    if (problem !== undefined) return problem;
    const hosts = (sets as JsonObject[]).map((one) => one["host"]);
    if (WORST_FIRST.find((state) => hosts.includes(state)) !== host) return OTHER_STATE;
    return removeTargets(plan, readRolledBack(sets as JsonObject[]));
  };

  const findUnknownTarget = ({ keys }: PlanState, sets: unknown): string | undefined =>
    readTargets(sets, 1)?.every((key) => keys.includes(key)) ? undefined : NO_TARGETS;

  const removeTargets = ({ applied }: PlanState, keys: readonly string[]): string | undefined =>
    keys.every((key) => applied.delete(key)) ? undefined : "it rolls back a target of its plan that is not applied";

  return {
    check(entry: Entry, line: number): Finding | undefined {
      if (entry.eventType !== "change_proposed" && !OPERATIONS.has(entry.eventType)) return undefined;
      const message = findProblem(entry, parseDetail(entry));
      return message === undefined ? undefined : { line, entry: entry.id, rule: "form", message };
    },
    /** Takes the content of a change; returns why it does not match the entry of its proposal. */
    addContent(changeId: string, { sets }: JsonObject): string | undefined {
      const plan = plans.get(Buffer.from(changeId).toString("latin1"));
      if (!plan) return sets === undefined ? undefined : OTHER_TARGETS;
      return readTargets(sets)?.join("\n\n") === plan.keys.join("\n\n") ? undefined : OTHER_TARGETS;
    },
  };
}

/**
 * Lists the keys of the targets that a failed operation restored: only these have `target_holds`, the change whose value they have
 * now (null: none). `sets`: a valid list of targets.
 */
const readRolledBack = (sets: readonly JsonObject[]): readonly string[] =>
  readTargets(
    sets.filter(({ target_holds }) => target_holds !== undefined),
    0,
  )!;

/** Lists the targets of an apply or a rollback with their facts; more than one for a plan. */
export function listTargetFacts(entry: Entry): { key: string; facts: JsonObject }[] {
  const detail = parseDetail(entry);
  const sets = Array.isArray(detail["sets"])
    ? detail["sets"].filter(isObject)
    : [{ ...detail, tenant_id: decodeUtf8(entry.tenant) }];
  return sets.map((facts: JsonObject) => ({
    key: targetKey([stringOrUndefined(facts["tenant_id"]) ?? "", stringOrUndefined(facts["target"]) ?? ""]),
    facts,
  }));
}
