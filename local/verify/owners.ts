/** The owners of targets by the entries of applies and rollbacks: only the value of an owner is restored. */
import type { Finding } from "./chain.ts";
import { decoded } from "./detail.ts";
import { asText } from "./json.ts";
import type { Entry } from "./line.ts";
import { listHeld } from "./plan_targets.ts";

/** Creates the check of entries one after another. */
export function createOwnerCheck() {
  /** The targets that a change owns, by change. */
  const owned = new Map<string, Set<string>>();
  const give = (change: string, key: string): void => void owned.set(change, (owned.get(change) ?? new Set()).add(key));
  const take = (change: string, key: string): void => {
    const keys = owned.get(change);
    keys?.delete(key);
    if (keys?.size === 0) owned.delete(change);
  };
  return (entry: Entry, line: number): Finding | undefined => {
    const { eventType, id } = entry;
    const change = decoded(entry.changeId);
    if (eventType === "change_applied")
      for (const { key, facts } of listHeld(entry)) {
        take(asText(facts["target_held"]) ?? "", key);
        give(change, key);
      }
    else if (eventType === "change_rolled_back" || eventType === "change_rollback_failed")
      for (const { key, facts } of listHeld(entry)) {
        if (eventType === "change_rollback_failed" && facts["target_holds"] === undefined) continue;
        take(change, key);
        const next = asText(facts["target_holds"]);
        if (next !== undefined) give(next, key);
      }
    else if (eventType === "value_restored" && !listHeld(entry).every(({ key }) => owned.get(change)?.has(key)))
      return {
        line,
        entry: id,
        rule: "form",
        message: "it restores a change that is not the applied owner of its target",
      };
    return undefined;
  };
}
