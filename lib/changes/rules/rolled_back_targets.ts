/** The targets that an entry is about. After a failed rollback of a plan, these are not all targets in the entry. */
import { isRolledBack, listTargets, type PlanTarget } from "./event.ts";

/** Lists the targets of an entry; of a failed rollback, only the targets of a plan that it rolled back. */
export const listRolledBackTargets = (
  entry: Parameters<typeof listTargets>[0] & { event_type: string },
): readonly PlanTarget[] =>
  listTargets(entry).filter((target) => entry.event_type !== "change_rollback_failed" || isRolledBack(target));
