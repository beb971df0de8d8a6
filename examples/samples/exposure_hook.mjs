/** An OpenFeature hook that logs who was exposed to which arm of a rollout; `log` writes a row of `exposures`. */
export const exposureHook = (log) => ({
  after({ context }, { variant, flagMetadata: { change_id, step } = {} }) {
    // A user without the plan's unit of randomisation has no arm.
    if (step === undefined || (variant !== "treated" && variant !== "control")) return;
    log({ change_id, step, arm: variant, user_id: context.userId });
  },
});
