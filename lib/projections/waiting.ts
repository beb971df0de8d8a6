/** Projection of changes that wait for consent or apply, of counts by status, successors, and the adapter's last error. */
import type { Status } from "../changes/rules/change.ts";
import { isOpenChange } from "../changes/rules/current_state.ts";
import type { Entry } from "./entries.ts";
import type { Projection, ProjectionContext } from "./projection.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `waiting/<status>:<change_id>`: start of the wait of a pending or approved change, in order of creation. */
    waiting: number | GraveWait;
    /** `successors/<change_id>:<change_id>`: a change, and one that was proposed to replace it. */
    successors: true;
  }
}

/** The wait of a change of high risk, or one that cannot be undone; that of any other is its `since` alone. */
interface GraveWait {
  since: number;
  grave: true;
}

/** Parses a row; `since` is in milliseconds since the epoch. */
export const parseWait = (row: number | GraveWait): { since: number; grave: boolean } =>
  typeof row === "number" ? { since: row, grave: false } : row;

/** Numbers of changes by status. */
export type StatusCounts = Partial<Record<Status, number>>;

interface State {
  counts: StatusCounts;
  adapter_error: string | null;
}

/** Statuses in which a change waits for a person. */
export type WaitingStatus = "pending_consent" | "approved";

/** Returns the prefix of the ids of changes in a status. */
export const waitingPrefix = (status: WaitingStatus): string => `${status}:`;

/** Returns the prefix of the ids of changes that were proposed to replace a change. */
export const successorPrefix = (changeId: string): string => `${changeId}:`;

export const waiting: Projection<State> = {
  name: "waiting",
  version: 5,
  collections: ["waiting", "successors"],
  start: { counts: {}, adapter_error: null },
  async apply(context, entry) {
    // Without `from`, a decision is about a pending change.
    const { status, from = "pending_consent", adapter, sets, error, supersedes } = entry.facts;
    switch (entry.event_type) {
      case "change_proposed":
        if (supersedes !== undefined) context.tx.put("successors", successorPrefix(supersedes) + entry.change_id, true);
        return moveChange(context, entry, undefined, status);
      case "consent_decision":
        // Some decisions do not change the status, such as an approval below the quorum.
        return status === from ? undefined : moveChange(context, entry, from, status);
      case "change_applied":
        await moveChange(context, entry, "approved", "applied");
        break;
      case "change_rolled_back":
        await moveChange(context, entry, "applied", "rolled_back");
        break;
      case "change_apply_failed":
      case "change_rollback_failed":
        context.state = { ...context.state, adapter_error: error ?? null };
        return;
    }
    // A success clears the error, unless no target system took part (`adapter` is null). A plan names the adapter of each target.
    if (adapter || sets?.some((target) => target.adapter)) context.state = { ...context.state, adapter_error: null };
  },
};

async function moveChange(
  context: ProjectionContext<State>,
  { change_id, timestamp }: Entry,
  from: Status | undefined,
  to: Status | undefined,
): Promise<void> {
  const counts = { ...context.state.counts };
  // A count that is missing becomes 0.
  if (from) counts[from] = (counts[from] ?? 1) - 1;
  if (to) counts[to] = (counts[to] ?? 0) + 1;
  context.state = { ...context.state, counts };
  if (isOpenChange(to)) {
    const { risk, reversible } = await context.readChange(change_id);
    const since = Date.parse(timestamp);
    const isGrave = risk === "high" || !reversible;
    context.tx.put("waiting", waitingPrefix(to) + change_id, isGrave ? { since, grave: true } : since);
  }
  if (isOpenChange(from)) context.tx.delete("waiting", waitingPrefix(from) + change_id);
}
