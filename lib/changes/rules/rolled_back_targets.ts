/** Targets that rollbacks have taken back. */
import { isRolledBack, listTargets, type PlanTarget } from "./event.ts";

/** Lists the targets that the entry of a rollback has taken back; where it failed, those of a plan alone. */
export const listRolledBackTargets = (
  entry: Parameters<typeof listTargets>[0] & { event_type: string },
): readonly PlanTarget[] =>
  listTargets(entry).filter((one) => entry.event_type !== "change_rollback_failed" || isRolledBack(one));
