/** Targets that rollbacks have rolled back. */
import { isRolledBack, listTargets, type PlanTarget } from "./event.ts";

/** Lists the targets that the entry of a rollback rolled back; after a failed rollback, only those of a plan that succeeded. */
export const listRolledBackTargets = (
  entry: Parameters<typeof listTargets>[0] & { event_type: string },
): readonly PlanTarget[] =>
  listTargets(entry).filter((target) => entry.event_type !== "change_rollback_failed" || isRolledBack(target));
