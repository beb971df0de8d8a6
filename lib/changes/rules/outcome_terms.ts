/** The verdicts on outcomes. */

/** Verdicts that peers get. */
export const SHARED_VERDICTS = ["met", "missed", "regressed", "inconclusive"] as const;
export const VERDICTS = [...SHARED_VERDICTS, "too_early"] as const;
export type OutcomeVerdict = (typeof VERDICTS)[number];
