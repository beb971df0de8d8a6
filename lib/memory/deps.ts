import type { FollowDeps } from "../follow/deps.ts";

/** What recalling needs. */
export type MemoryDeps = FollowDeps;
