/** Decides whether others may deploy a release, from the changes of its target. Pure. */
import type { AppError, ErrorCode } from "../../kit/errors.ts";
import type { Freeze } from "./freeze.ts";
import { describeFreeze } from "./hold.ts";
import type { Lifecycle } from "./record.ts";
import type { MissingConsent } from "./missing.ts";

export const GATE_STATES = ["allowed", "waiting", "refused"] as const;

/** The answer to a request for a release. */
export interface GateDecision {
  state: (typeof GATE_STATES)[number];
  /** The change that releases the head; null if there is none. */
  change_id: string | null;
  /** Why it is not allowed, in sentences. */
  reasons: string[];
}

/** A change of a target, as the log records it. */
export interface Release {
  change: Lifecycle;
  /** The commit that it releases; absent if its value is not a release, or was erased. */
  head?: string | undefined;
  /** The entry of its last consent. */
  consented: number;
  /** Why its record is not trusted, in a sentence. */
  mismatch?: string | undefined;
}

/** Facts about a target when a tool requests a release. */
export interface GateFacts {
  /** The commit to deploy; not the head of the log. */
  head: string;
  /** The approved or applied change with the newest last consent. */
  newest: Release | undefined;
  /** Id of the change in force on the target: its newest applied one. */
  owner: string | null;
  /** The error that applying `newest` would cause; if it is applied, the error that relying on its consents would cause. */
  obstacle: AppError | undefined;
  /** The newest change with this commit that waits for consents, with what it lacks. */
  pending: { release: Release; overdue: string | undefined; missing: readonly MissingConsent[] } | undefined;
  /** Another change with this commit. */
  other: Release | undefined;
}

/** Rejections that end by themselves, or with another consent. */
const TEMPORARY_OBSTACLES: ReadonlySet<ErrorCode> = new Set([
  "consent_incomplete",
  "operation_in_progress",
  "rollout_in_progress",
  "frozen",
  "outside_window",
  "promotion_not_ready",
]);

/** Decides on a commit. Only the change of the target with the newest consent can allow it. */
export function decideGate(facts: GateFacts): GateDecision {
  const { head, newest, pending, other } = facts;
  if (newest?.mismatch !== undefined)
    return waitingDecision(newest, `${newest.change.change_id} was consented to last, and ${newest.mismatch}`);
  const decision = newest?.head === head ? judgeNewest(newest, facts) : undefined;
  if (decision && decision.state !== "refused") return decision;
  if (pending) return judgePending(pending);
  if (decision) return decision;
  if (other) return createRejection(other, describeOther(other, newest));
  const reason = "no change of this target releases this head; propose one";
  return { state: "refused", change_id: null, reasons: [reason] };
}

function judgeNewest(newest: Release, { owner, obstacle }: GateFacts): GateDecision {
  const { change_id, status } = newest.change;
  if (status === "applied" && owner !== change_id)
    return createRejection(newest, `${owner ?? "no change"} holds the target now, and no longer ${change_id}`);
  if (status === "applied" && obstacle?.code === "consent_incomplete")
    return waitingDecision(
      newest,
      `${obstacle.message}; ${change_id} is applied and takes none, so propose the release again`,
    );
  if (obstacle)
    return (TEMPORARY_OBSTACLES.has(obstacle.code) ? waitingDecision : createRejection)(
      newest,
      describeObstacle(obstacle),
    );
  return { state: "allowed", change_id, reasons: [] };
}

/** Describes an obstacle. Tools publish reasons in their logs and comments, so the note of a freeze is left out. */
const describeObstacle = ({ code, message, details }: AppError): string =>
  code === "frozen" ? describeFreeze(details["freeze"] as Freeze) : message;

function judgePending({ release, overdue, missing }: NonNullable<GateFacts["pending"]>): GateDecision {
  const { change_id } = release.change;
  if (overdue !== undefined) return createRejection(release, `${change_id} is too late: ${overdue}; propose it again`);
  if (missing.length === 0) return waitingDecision(release, `${change_id} waits for a consent`);
  const lacks = missing.map(({ rule, count, of }) => {
    const names = of.length > 0 ? ` of ${of.join(", ")}` : "";
    return `${change_id} waits for ${count} more ${count === 1 ? "consent" : "consents"}${names} (${rule})`;
  });
  return { ...waitingDecision(release, ""), reasons: lacks };
}

function describeOther({ change }: Release, newest: Release | undefined): string {
  const { change_id, status, resolution } = change;
  if (status === "rolled_back") return `${change_id} was rolled back`;
  if (status === "denied") return `${change_id} was ${resolution}; propose it again`;
  return `${newest!.change.change_id} was consented to after ${change_id}, and releases another head`;
}

const waitingDecision = ({ change: { change_id } }: Release, reason: string): GateDecision => ({
  state: "waiting",
  change_id,
  reasons: [reason],
});
const createRejection = ({ change: { change_id } }: Release, reason: string): GateDecision => ({
  state: "refused",
  change_id,
  reasons: [reason],
});
