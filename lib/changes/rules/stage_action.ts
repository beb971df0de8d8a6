/** Actions of a person on a rollout. */
export const STAGE_ACTIONS = ["hold", "resume", "advance"] as const;
export type StageAction = (typeof STAGE_ACTIONS)[number];

/** Facts in the statement of an action on a rollout. */
export interface StageFacts {
  step: number | undefined;
  action: StageAction | undefined;
}
