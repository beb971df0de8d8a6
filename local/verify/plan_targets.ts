/** The targets of plans by their entries: an apply sets all that were proposed, and a rollback takes back some that are left. */
import type { Finding } from "./chain.ts";
import { decoded, parseDetail } from "./detail.ts";
import { asText, type Detail, isObject } from "./json.ts";
import type { Entry } from "./line.ts";

const OTHER_TARGETS = "it names other targets of its plan than its content";
const STILL_HELD = "it is rolled back, and its plan still holds a target";
const OTHER_STATE = "its state is not the worst of its targets";
const NO_TARGETS = "its sets are no targets of a plan";

/** Lists the keys of the targets that `sets` names; undefined where these are not two different ones at least. */
export function readTargets(sets: unknown, least = 2): readonly string[] | undefined {
  if (!Array.isArray(sets) || sets.length < least || !sets.every(isObject)) return undefined;
  const keys = sets.map(({ tenant_id, target }: Detail) => {
    const names = [asText(tenant_id), asText(target)];
    return names.includes(undefined) ? "" : targetKey(names as [string, string]);
  });
  return keys.includes("") || new Set(keys).size < keys.length ? undefined : keys;
}

/** Returns the key of a target, which is ASCII and compared without case. */
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

/** States of a host after a failure; that of a plan is the first that one of its targets has. */
const WORST_FIRST: readonly unknown[] = ["unknown", "applied", "absent", "rolled_back"];

interface Known {
  keys: readonly string[];
  left: Set<string>;
}

/** Creates the check of entries one after another; memory is that of plans. */
export function createPlanCheck() {
  const known = new Map<string, Known>();

  const findProblem = ({ eventType, changeId }: Entry, { sets, host }: Detail): string | undefined => {
    if (eventType === "change_proposed") {
      if (sets === undefined) return undefined;
      const keys = readTargets(sets);
      if (!keys) return NO_TARGETS;
      known.set(changeId, { keys, left: new Set() });
      return undefined;
    }
    const plan = known.get(changeId);
    if (!plan) return sets === undefined ? undefined : "it names targets of a plan, and its change is none";
    if (eventType === "change_drifted") return findUnknown(plan, sets);
    if (FAILURES.has(eventType)) return findLeftProblem(plan, sets, host) ?? takeBack(plan, readTakenBack(sets));
    const keys = readTargets(sets, 1);
    if (!keys) return NO_TARGETS;
    // Its owners are checked by themselves.
    if (eventType === "value_restored") return undefined;
    const isApply = eventType === "change_applied";
    if (!isApply) return takeBack(plan, keys) ?? (plan.left.size > 0 ? STILL_HELD : undefined);
    plan.left = new Set(keys);
    const isAll = keys.length === plan.keys.length && keys.every((key) => plan.keys.includes(key));
    return isAll ? undefined : "it was applied to other targets than those of its plan";
  };

  const findUnknown = ({ keys }: Known, sets: unknown): string | undefined =>
    readTargets(sets, 1)?.every((key) => keys.includes(key)) ? undefined : NO_TARGETS;

  /** Checks how a failure left the targets of its plan; a change whose content was edited names none. */
  const findLeftProblem = (plan: Known, sets: unknown, host: unknown): string | undefined => {
    if (sets === undefined) return undefined;
    const problem = findUnknown(plan, sets);
    if (problem !== undefined) return problem;
    const hosts = (sets as Detail[]).map((one) => one["host"]);
    return WORST_FIRST.find((state) => hosts.includes(state)) === host ? undefined : OTHER_STATE;
  };

  const takeBack = ({ left }: Known, keys: readonly string[]): string | undefined =>
    keys.every((key) => left.delete(key)) ? undefined : "it takes back a target that its plan does not hold";

  return {
    check(entry: Entry, line: number): Finding | undefined {
      if (entry.eventType !== "change_proposed" && !OPERATIONS.has(entry.eventType)) return undefined;
      const message = findProblem(entry, parseDetail(entry));
      return message === undefined ? undefined : { line, entry: entry.id, rule: "form", message };
    },
    /** Takes the content of a change; returns why it is not of the entry of its proposal. */
    learn(changeId: string, { sets }: Detail): string | undefined {
      const plan = known.get(Buffer.from(changeId).toString("latin1"));
      if (!plan) return sets === undefined ? undefined : OTHER_TARGETS;
      return readTargets(sets)?.join("\n\n") === plan.keys.join("\n\n") ? undefined : OTHER_TARGETS;
    },
  };
}

/** Lists the targets that a failed rollback has taken back, by its entry. */
const readTakenBack = (sets: unknown): readonly string[] =>
  Array.isArray(sets)
    ? (readTargets(
        sets.filter((one) => isObject(one) && one["target_holds"] !== undefined),
        0,
      ) ?? [])
    : [];

/** The targets of an apply or a rollback with their facts: those of a plan, or the one of another change. */
export function listHeld(entry: Entry): { key: string; facts: Detail }[] {
  const detail = parseDetail(entry);
  const sets = Array.isArray(detail["sets"])
    ? detail["sets"].filter(isObject)
    : [{ ...detail, tenant_id: decoded(entry.tenant) }];
  return sets.map((facts: Detail) => ({
    key: targetKey([asText(facts["tenant_id"]) ?? "", asText(facts["target"]) ?? ""]),
    facts,
  }));
}
