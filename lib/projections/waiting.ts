/** What waits for consent and for its apply, how many changes there are, which take the place of which, and how the adapter fared last. */
import type { Status } from "../changes/rules/change.ts";
import { isLive } from "../changes/rules/in_force.ts";
import type { Entry } from "./entries.ts";
import type { Follower, Following } from "./follower.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `waiting/<status>:<change_id>`: since when a change is pending or approved, in order of creation. */
    waiting: number | GraveWait;
    /** `successors/<change_id>:<change_id>`: a change, and one that was proposed in its place. */
    successors: true;
  }
}

/** How a change waits that is of high risk, or cannot be undone; any other is kept as its `since` alone. */
interface GraveWait {
  since: number;
  grave: true;
}

/** Since when a change waits, in milliseconds since the epoch, and whether it is grave. */
export const waitOf = (kept: number | GraveWait): { since: number; grave: boolean } =>
  typeof kept === "number" ? { since: kept, grave: false } : kept;

/** How many changes there are by status. */
export type StatusCounts = Partial<Record<Status, number>>;

interface State {
  counts: StatusCounts;
  adapter_error: string | null;
}

/** The statuses in which a change waits for somebody. */
export type WaitingStatus = "pending_consent" | "approved";

/** What the ids of the changes in a status begin with. */
export const waitingPrefix = (status: WaitingStatus): string => `${status}:`;

/** What the ids of the changes that were proposed in a change's place begin with. */
export const successorPrefix = (changeId: string): string => `${changeId}:`;

export const waiting: Follower<State> = {
  name: "waiting",
  version: 4,
  collections: ["waiting", "successors"],
  start: { counts: {}, adapter_error: null },
  async follow(on, entry) {
    const { status, from = "pending_consent", adapter, error, supersedes } = entry.facts;
    switch (entry.event_type) {
      case "change_proposed":
        if (supersedes !== undefined) on.tx.put("successors", successorPrefix(supersedes) + entry.change_id, true);
        return move(on, entry, undefined, status);
      case "consent_decision":
        return status === from ? undefined : move(on, entry, from, status);
      case "change_applied":
        await move(on, entry, "approved", "applied");
        break;
      case "change_rolled_back":
        await move(on, entry, "applied", "rolled_back");
        break;
      case "change_apply_failed":
      case "change_rollback_failed":
        on.state = { ...on.state, adapter_error: error ?? null };
    }
    if (adapter) on.state = { ...on.state, adapter_error: null };
  },
};

async function move(
  on: Following<State>,
  { change_id, timestamp }: Entry,
  from: Status | undefined,
  to: Status | undefined,
): Promise<void> {
  const counts = { ...on.state.counts };
  if (from) counts[from] = (counts[from] ?? 1) - 1;
  if (to) counts[to] = (counts[to] ?? 0) + 1;
  on.state = { ...on.state, counts };
  if (isLive(to)) {
    const { risk, reversible } = await on.change(change_id);
    const since = Date.parse(timestamp);
    const isGrave = risk === "high" || !reversible;
    on.tx.put("waiting", waitingPrefix(to) + change_id, isGrave ? { since, grave: true } : since);
  }
  if (isLive(from)) on.tx.delete("waiting", waitingPrefix(from) + change_id);
}
