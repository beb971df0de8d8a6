/** Verifies that only the owner of a target restores its value. Applies and rollbacks decide who owns a target. */
import type { Finding } from "./chain.ts";
import { decodeUtf8 } from "./entry_detail.ts";
import { stringOrUndefined } from "./json.ts";
import type { Entry } from "./line.ts";
import { listTargetFacts } from "./plan_targets.ts";

/** Creates a check that takes the entries of a log in their order. */
export function createOwnerCheck() {
  /** Target keys, by the change that owns them. */
  const ownedTargets = new Map<string, Set<string>>();
  const addOwner = (change: string, key: string): void =>
    void ownedTargets.set(change, (ownedTargets.get(change) ?? new Set()).add(key));
  const removeOwner = (change: string, key: string): void => {
    const keys = ownedTargets.get(change);
    keys?.delete(key);
    if (keys?.size === 0) ownedTargets.delete(change);
  };
  return (entry: Entry, line: number): Finding | undefined => {
    const { eventType, id } = entry;
    const change = decodeUtf8(entry.changeId);
    if (eventType === "change_applied")
      for (const { key, facts } of listTargetFacts(entry)) {
        // The change that owned the target before.
        removeOwner(stringOrUndefined(facts["target_held"]) ?? "", key);
        addOwner(change, key);
      }
    else if (eventType === "change_rolled_back" || eventType === "change_rollback_failed")
      for (const { key, facts } of listTargetFacts(entry)) {
        // A failed rollback states `target_holds` only for the targets that it restored.
        if (eventType === "change_rollback_failed" && facts["target_holds"] === undefined) continue;
        removeOwner(change, key);
        // The change that owns the target after the rollback.
        const next = stringOrUndefined(facts["target_holds"]);
        if (next !== undefined) addOwner(next, key);
      }
    else if (
      eventType === "value_restored" &&
      !listTargetFacts(entry).every(({ key }) => ownedTargets.get(change)?.has(key))
    )
      return {
        line,
        entry: id,
        rule: "form",
        message: "it restores the value of a change that is not in force on its target",
      };
    return undefined;
  };
}
