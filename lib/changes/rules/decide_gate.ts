/** Decides whether others may deploy a release, from the changes of its target. Pure. */
import type { AppError, ErrorCode } from "../../kit/errors.ts";
import type { Freeze } from "./freeze.ts";
import { describeFreeze } from "./hold.ts";
import type { Lifecycle } from "./record.ts";
import type { MissingConsent } from "./missing_consents.ts";

export const GATE_STATES = ["allowed", "waiting", "refused"] as const;

/** The answer to a request for a release. */
export interface GateDecision {
  state: (typeof GATE_STATES)[number];
  /** The change that the decision is about; null if no change releases the head. */
  change_id: string | null;
  /** Why it is not allowed, in sentences. */
  reasons: string[];
}

/** A change that may release a commit, as the log records it. */
export interface Release {
  change: Lifecycle;
  /** The commit that it releases; absent if its value is not a release, or was erased. */
  head?: string | undefined;
  /** Id of the entry of its last consent. */
  lastConsentEntry: number;
  /** Why its record is not trusted, in a sentence. */
  mismatch?: string | undefined;
}

/** Facts about a target when a tool requests a release. */
export interface GateFacts {
  /** The commit to deploy; not the head of the log. */
  head: string;
  /** The approved or applied change with the newest last consent. */
  lastConsented: Release | undefined;
  /** Id of the newest applied change of the target. */
  changeInForce: string | null;
  /** The error that applying `lastConsented` would cause; if it is applied, the error that relying on its consents would cause. */
  obstacle: AppError | undefined;
  /** The newest change with this commit that waits for consents, with the consents that it lacks. */
  pending: { release: Release; overdue: string | undefined; missing: readonly MissingConsent[] } | undefined;
  /** Another change with this commit. */
  otherRelease: Release | undefined;
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
  const { head, lastConsented, pending, otherRelease } = facts;
  if (lastConsented?.mismatch !== undefined) {
    const reason = `${lastConsented.change.change_id} was consented to last, and ${lastConsented.mismatch}`;
    return createWaiting(lastConsented, reason);
  }
  const decision = lastConsented?.head === head ? judgeLastConsented(lastConsented, facts) : undefined;
  if (decision && decision.state !== "refused") return decision;
  // A pending change with this commit may still allow what the last consented one does not.
  if (pending) return judgePending(pending);
  if (decision) return decision;
  if (otherRelease) return createRejection(otherRelease, describeOtherRelease(otherRelease, lastConsented));
  const reason = "no change of this target releases this head; propose one";
  return { state: "refused", change_id: null, reasons: [reason] };
}

function judgeLastConsented(release: Release, { changeInForce, obstacle }: GateFacts): GateDecision {
  const { change_id, status } = release.change;
  if (status === "applied" && changeInForce !== change_id)
    return createRejection(release, `${changeInForce ?? "no change"} holds the target now, and no longer ${change_id}`);
  if (status === "applied" && obstacle?.code === "consent_incomplete")
    return createWaiting(
      release,
      `${obstacle.message}; ${change_id} is applied and takes none, so propose the release again`,
    );
  if (!obstacle) return { state: "allowed", change_id, reasons: [] };
  const createDecision = TEMPORARY_OBSTACLES.has(obstacle.code) ? createWaiting : createRejection;
  return createDecision(release, describeObstacle(obstacle));
}

/** Describes an obstacle. Tools publish reasons in their logs and comments, so the note of a freeze is left out. */
const describeObstacle = ({ code, message, details }: AppError): string =>
  code === "frozen" ? describeFreeze(details["freeze"] as Freeze) : message;

function judgePending({ release, overdue, missing }: NonNullable<GateFacts["pending"]>): GateDecision {
  const { change_id } = release.change;
  if (overdue !== undefined) return createRejection(release, `${change_id} is too late: ${overdue}; propose it again`);
  if (missing.length === 0) return createWaiting(release, `${change_id} waits for a consent`);
  const reasons = missing.map(({ rule, count, of }) => {
    const names = of.length > 0 ? ` of ${of.join(", ")}` : "";
    return `${change_id} waits for ${count} more ${count === 1 ? "consent" : "consents"}${names} (${rule})`;
  });
  return { state: "waiting", change_id, reasons };
}

function describeOtherRelease({ change }: Release, lastConsented: Release | undefined): string {
  const { change_id, status, resolution } = change;
  if (status === "rolled_back") return `${change_id} was rolled back`;
  if (status === "denied") return `${change_id} was ${resolution}; propose it again`;
  // The other release is approved or applied, so at least one change has a consent.
  return `${lastConsented!.change.change_id} was consented to after ${change_id}, and releases another head`;
}

const createWaiting = ({ change: { change_id } }: Release, reason: string): GateDecision => ({
  state: "waiting",
  change_id,
  reasons: [reason],
});
const createRejection = ({ change: { change_id } }: Release, reason: string): GateDecision => ({
  state: "refused",
  change_id,
  reasons: [reason],
});
