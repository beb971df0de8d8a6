/** What waits for consent and what waits for its apply, how many changes there are, and how the adapter fared last. */
import type { Status } from "../governance/rules/change.ts";
import type { Entry } from "./entries.ts";
import type { Follower, Following } from "./follower.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `waiting/<status>:<change_id>`: since when a change is pending or approved, in order of creation. */
    waiting: string;
  }
}

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

const isWaiting = (status: Status | undefined): status is WaitingStatus =>
  status === "pending_consent" || status === "approved";

export const waiting: Follower<State> = {
  name: "waiting",
  collections: ["waiting"],
  retired: [
    { collection: "live" },
    { collection: "live_targets" },
    { collection: "counts", id: "changes" },
    { collection: "aging" },
    { collection: "meta", id: "adapter" },
  ],
  start: { counts: {}, adapter_error: null },
  async follow(on, entry) {
    const { status, from = "pending_consent", adapter, error } = entry.facts;
    switch (entry.event_type) {
      case "change_proposed":
        return move(on, entry, undefined, status);
      case "consent_decision":
        return status === from ? undefined : move(on, entry, from, status);
      case "change_applied":
        move(on, entry, "approved", "applied");
        break;
      case "change_rolled_back":
        move(on, entry, "applied", "rolled_back");
        break;
      case "change_apply_failed":
      case "change_rollback_failed":
        on.state = { ...on.state, adapter_error: error ?? null };
    }
    if (adapter) on.state = { ...on.state, adapter_error: null };
  },
};

function move(on: Following<State>, entry: Entry, from: Status | undefined, to: Status | undefined): void {
  const counts = { ...on.state.counts };
  if (from) counts[from] = (counts[from] ?? 1) - 1;
  if (to) counts[to] = (counts[to] ?? 0) + 1;
  on.state = { ...on.state, counts };
  if (isWaiting(from)) on.tx.delete("waiting", waitingPrefix(from) + entry.change_id);
  if (isWaiting(to)) on.tx.put("waiting", waitingPrefix(to) + entry.change_id, entry.timestamp);
}
