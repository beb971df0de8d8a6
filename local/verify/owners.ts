/** The owners of targets by the entries of applies and rollbacks: only the value of an owner is restored. */
import type { Finding } from "./chain.ts";
import { decoded, parseDetail } from "./detail.ts";
import { asText } from "./json.ts";
import type { Entry } from "./line.ts";

/** Creates the check of entries one after another. */
export function createOwnerCheck() {
  const owners = new Set<string>();
  return (entry: Entry, line: number): Finding | undefined => {
    const { eventType, id } = entry;
    const change = decoded(entry.changeId);
    if (eventType === "change_applied") {
      owners.delete(asText(parseDetail(entry)["target_held"]) ?? "");
      owners.add(change);
    } else if (eventType === "change_rolled_back") {
      owners.delete(change);
      const next = asText(parseDetail(entry)["target_holds"]);
      if (next !== undefined) owners.add(next);
    } else if (eventType === "value_restored" && !owners.has(change))
      return {
        line,
        entry: id,
        rule: "form",
        message: "it restores a change that is not the applied owner of its target",
      };
    return undefined;
  };
}
