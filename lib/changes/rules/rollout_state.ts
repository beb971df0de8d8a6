/** The effect of a rollout's entries on its change. */
import { BUCKETS } from "../../rollout/bucket.ts";
import type { Exposure } from "../../rollout/exposure.ts";
import type { Change } from "./change.ts";
import type { ChangeEvent, EventDetail } from "./event.ts";
import type { ChangeState, Lifecycle, Rollout } from "./record.ts";

type ExposedChange = Pick<Change, "change_id" | "status" | "exposure" | "stages">;

/** Returns true while a change is exposed to a share of the users. */
export const isRollingOut = ({ status, exposure }: Pick<Change, "status" | "exposure">): boolean =>
  status === "applied" && exposure !== undefined && exposure.share < BUCKETS;

/**
 * Returns which users get the value of a change that is rolled out in steps; undefined for other changes and before the apply.
 */
export function findExposure({ change_id, status, exposure, stages }: ExposedChange): Exposure | undefined {
  if (status !== "applied" || !exposure || !stages) return undefined;
  const { step, share, since } = exposure;
  return { step, share, unit: stages.unit, salt: change_id, since };
}

/**
 * Returns true if no entry stopped the rollout before an advance was ordered. `stop`: the id of the entry that stopped it; `ordered`:
 * the next entry id when the advance was ordered. Only an advance on a target system has it, since time passes until it is recorded.
 */
const isOrderedBefore = ({ ordered }: EventDetail, stop: number | undefined): boolean =>
  stop === undefined || (ordered !== undefined && ordered <= stop);

/** Returns the exposure of a step; the step after the last exposes all users. */
export const exposeStep = ({ shares }: Rollout, step: number, since: string): NonNullable<Change["exposure"]> => ({
  step,
  share: shares[step] ?? BUCKETS,
  since,
  waits_for: step < shares.length ? "no_data" : null,
});

/** Returns the state after an entry about a step; undefined if the entry is impossible in this state. */
export function evolveStage(
  state: ChangeState,
  { id, timestamp, event_type, detail }: ChangeEvent,
): ChangeState | undefined {
  const { change, rollout } = state;
  const { exposure } = change;
  const { step, reason } = detail;
  if (!rollout || !exposure || !isRollingOut(change) || step !== exposure.step) return undefined;
  const evolveTo = (changed: Partial<Lifecycle>, nextRollout: Rollout): ChangeState => ({
    ...state,
    rollout: nextRollout,
    change: { ...change, ...changed, revision: change.revision + 1 },
    audit: [...state.audit, id],
  });
  const waitFor = (waits_for: string, nextRollout: Rollout): ChangeState =>
    evolveTo({ exposure: { ...exposure, waits_for } }, nextRollout);
  const { by_hand, mismatch, ...unheldRollout } = rollout;
  const next = exposeStep(rollout, exposure.step + 1, timestamp);
  switch (event_type) {
    case "stage_advanced":
      // An advance that was ordered before a person or the rule stopped it may have been carried out.
      if (mismatch || !isOrderedBefore(detail, by_hand) || !isOrderedBefore(detail, rollout.stopped)) return undefined;
      // The stop or hold still applies after the advance.
      if (rollout.stopped !== undefined) next.waits_for = exposure.waits_for;
      else if (by_hand !== undefined && next.waits_for !== null) next.waits_for = "by_hand";
      return evolveTo({ exposure: next }, rollout);
    case "stage_held":
      if (!reason) return undefined;
      return waitFor(reason, {
        ...rollout,
        ...(reason === "by_hand" && { by_hand: id }),
        ...(reason === "mismatch" && { mismatch: true }),
      });
    case "stage_resumed":
      if (by_hand === undefined && !mismatch) return undefined;
      return waitFor("resumed", { ...unheldRollout, ...(mismatch && { baseline: id }) });
    case "stage_stopped":
      return rollout.stopped === undefined ? waitFor("rollback", { ...rollout, stopped: id }) : undefined;
    default:
      return undefined;
  }
}
