/** Acts of a person on a rollout. */
export const STAGE_ACTIONS = ["hold", "resume", "advance"] as const;
export type StageAction = (typeof STAGE_ACTIONS)[number];

/** Facts that the statement of an act on a rollout states. */
export interface StageFacts {
  step: number | undefined;
  action: StageAction | undefined;
}
