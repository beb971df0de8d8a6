import type { GovernanceDeps } from "../governance/deps.ts";

/** What following the log needs. */
export type FollowDeps = Pick<GovernanceDeps, "store" | "clock" | "sha256" | "log" | "mutex" | "product">;
