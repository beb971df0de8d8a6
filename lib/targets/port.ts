/** The port of a target system: a file, flag service, database or repository in which changes set values. */
import type { Change } from "../changes/rules/change.ts";

/**
 * A target and the value that a change sets there; `value` is absent if the change sets none. Targets are compared without
 * case; `target` has the spelling that was used first.
 */
export type Entry = Pick<Change, "tenant_id" | "target" | "kind" | "value">;

/** The current content of a target. */
export interface TargetValue {
  /** The value in the form of the entry for which it was read; absent if the target holds nothing. */
  value?: unknown;
  /** Changes whenever the value changes, and possibly more often. It is passed back in `expected`. */
  version: string;
  /** The original text, if parsing it loses information. A rollback passes it back to set the same bytes. */
  raw?: string | undefined;
}

/** The share of users who get the value in a step of a rollout. */
export interface UserShare {
  /** Attribute that distinguishes users. A user without it is in no share. */
  unit: string;
  /** Id of the change. Salt and unit determine the bucket of a user, so a growing share only adds users. */
  salt: string;
  /** Size of the share, of 10,000. */
  share: number;
}

/** One operation of a change on its target system. The system should show `change_id` to its users. */
export interface Attempt {
  change_id: string;
  /** Number of the entry in a plan, from 1; absent for any other change. */
  entry?: number;
  operation: "apply" | "rollback" | "restore" | "advance";
  /** Unique among the attempts of a change. */
  attempt: string;
  /** RFC 3339, UTC. */
  at: string;
}

/** Another change of the same target. */
export interface OtherChange {
  change_id: string;
  kind: string;
  /** When it was applied. */
  at: string;
}

/** An attempt with the other changes of its target, for a system that shows its changes. */
export interface AttemptContext extends Attempt {
  /** The change whose value an apply replaces, or a rollback restores. */
  replaced?: OtherChange | undefined;
  /** At a rollback: the later change that still owns the target. */
  superseded_by?: string | undefined;
}

/** The result of a write; `conflict` and `rejected` mean that nothing was set. */
export type SetResult =
  | { done: true; version: string; overwrote?: TargetValue }
  | { done: false; conflict: TargetValue }
  | { done: false; rejected: string };

/** One write of a set. */
export interface Write {
  entry: Entry;
  /** `undefined` removes the value. */
  next: TargetValue | undefined;
  expected: TargetValue;
  /** The attempt. Writes of one set differ only in `entry`, `replaced` and `superseded_by`. */
  attempt: AttemptContext;
}

/** The result of a set of writes: the versions in order, or the first conflict. If `done` is false, nothing was set. */
export type SetManyResult =
  | { done: true; versions: readonly string[] }
  | { done: false; index: number; conflict: TargetValue }
  | { done: false; rejected: string };

/** The target system rejects the change; the message is for the caller. */
export class TargetRejected extends Error {
  override readonly name = "TargetRejected";
}

/**
 * Reads a target, and sets it if it still holds the value that was read. A write throws `Unanswered` when the value may have been
 * set or may still be set later; any other error means that it was not set. Messages are audited: they contain no secret and
 * no value.
 */
export interface TargetSystem {
  /** Name of the system. */
  readonly name: string;
  /** `atomic`: the system compares and sets in one step. `checked`: the adapter compares just before the write, so a concurrent edit may be lost. */
  readonly guard: "atomic" | "checked";
  /** True if a value may be split between users (`addSplitSupport`); else a proposal with a split is 400 `value_not_allowed`. */
  readonly holdsSplits?: boolean;
  /** Explains why the system can never hold the entry, without a request; its proposal is 400 `value_not_allowed`. */
  check(entry: Entry): string | undefined;
  /**
   * Returns the place where the value is written: system type, address without credentials, key, and every option that affects
   * them. Consents are bound to it, so it is unique for each target, and stable across restarts.
   */
  place(entry: Entry): string;
  /** Reads the current value. `signal` aborts after 10 s, also in the methods below: pass it to `fetch` or the driver. */
  read(entry: Entry, signal: AbortSignal): Promise<TargetValue>;
  /**
   * Returns true if changes add up, such as patches of one branch: a change replaces no earlier one, each is rolled back by
   * itself, and `read` returns the entry's own value while the target contains it.
   */
  isCumulative?(entry: Entry): boolean;
  /** Describes the effect of an apply, for a dry run. Throws `TargetRejected` if the entry cannot be applied. */
  preview?(entry: Entry, current: TargetValue, signal: AbortSignal): Promise<unknown>;
  /** Explains why the entry cannot replace the current content, such as an archived flag. */
  checkHeld?(entry: Entry, current: TargetValue): string | undefined;
  /** Sets `next.raw`, or else `next.value` as JSON, if the target holds `expected`. `next` undefined: removes the value. */
  compareAndSet(
    entry: Entry,
    next: TargetValue | undefined,
    expected: TargetValue,
    attempt: AttemptContext,
    signal: AbortSignal,
  ): Promise<SetResult>;
  /**
   * Returns the split to set so that a share of the users gets the value of the entry, and all others exactly the value that they
   * get from `before`. For the full share of 10,000 it equals the value that an apply over `before` sets. A read returns the split
   * unchanged. Absent if the system cannot distinguish users: a change with `stages` is then 400 `value_not_allowed`.
   */
  split?(entry: Entry, share: UserShare, before: TargetValue): TargetValue;
  /** Explains why a share of the users cannot get the value of the entry; `before` is absent before the first read. */
  findSplitProblem?(entry: Entry, share: UserShare, before?: TargetValue): string | undefined;
  /**
   * Sets all values or none, in one transaction of the system; no reader sees a part of them. Absent if the system has no
   * transactions. Throws as `compareAndSet` does; `resolve` with any of the entries finds the outcome of the attempt.
   */
  setMany?(writes: readonly Write[], signal: AbortSignal): Promise<SetManyResult>;
  /**
   * Asks the system for the outcome of an attempt. `open`: it may still be executed; undefined: it has ended, and only the
   * current value shows its outcome.
   */
  resolve?(entry: Entry, attempt: Attempt, signal: AbortSignal): Promise<"done" | "not_done" | "open" | undefined>;
  /** Shows an operation without a value to the system's users. If absent, every change needs a value. */
  note?(entry: Entry, attempt: AttemptContext, signal: AbortSignal): Promise<void>;
  /** Removes copies of values that an interrupted write left. */
  removeLeftovers?(): Promise<void>;
  /** Throws if the system cannot be written now. Changes nothing and calls no other machine. */
  probe?(): Promise<void>;
  /**
   * Throws if the system's machine does not answer, or rejects the credentials. Changes nothing. Each cycle calls it, and its
   * failure makes the capability `target:<name>` fail. Failed reads of a system with `ping` are repeated twice.
   */
  ping?(signal: AbortSignal): Promise<void>;
}
