/** The port to a target system: the file, flag service, database or repository that a change sets a value in. */
import type { Change } from "../changes/rules/change.ts";

/**
 * A target and the value that a change sets there; `value` is absent where the change sets none. Targets are compared without
 * case; `target` has the spelling that was used first.
 */
export type Entry = Pick<Change, "tenant_id" | "target" | "kind" | "value">;

/** The current content of a target. */
export interface TargetValue {
  /** The value in the terms of the entry that it was read for; absent where the target holds nothing. */
  value?: unknown;
  /** Changes whenever the value changes, and possibly more often. It is passed back in `expected`. */
  version: string;
  /** The text as it was read, where parsing would lose part of it. A rollback passes it back to set the same bytes. */
  raw?: string | undefined;
}

/** Part of the users that a step of a rollout gives the value to. */
export interface UserShare {
  /** Attribute that distinguishes users. A user without it is in no share. */
  unit: string;
  /** Id of the change. Salt and unit determine the bucket of a user, so a growing share only adds users. */
  salt: string;
  /** Size of the share, of 10,000. */
  share: number;
}

/** One operation of a change on its target system. Write `change_id` where users of that system can see it. */
export interface Attempt {
  change_id: string;
  /** Number of the entry of a plan, from 1; absent for any other change. */
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
  /** The attempt, the same for all writes of a set but for the entry of the plan and the other changes of the target. */
  attempt: AttemptContext;
}

/** The result of a set of writes: the versions in order, or the first conflict. Unless it is done, nothing was set. */
export type SetManyResult =
  | { done: true; versions: readonly string[] }
  | { done: false; index: number; conflict: TargetValue }
  | { done: false; rejected: string };

/** The target system cannot take the change; the message is for the caller. */
export class TargetRejected extends Error {
  override readonly name = "TargetRejected";
}

/**
 * Reads a target, and sets it if it still holds the value that was read. A write throws `Unanswered` when the value may have been
 * set or may still be set later; any other error means that it was not set. Messages are audited: they contain no secret and
 * no value.
 */
export interface TargetSystem {
  /** Names the system. */
  readonly name: string;
  /** `atomic`: the system compares and sets in one step. `checked`: the system itself cannot refuse a concurrent edit, so the value is compared just before the write. */
  readonly guard: "atomic" | "checked";
  /** True where a value may be split between users (`addSplitSupport`); else proposing one is 400 `value_not_allowed`. */
  readonly holdsSplits?: boolean;
  /** Explains why the system can never hold the entry, without asking it: the proposal is 400 `value_not_allowed`. */
  check(entry: Entry): string | undefined;
  /**
   * Returns type, address without credentials, and key, with every option that determines where the value is written. Consents
   * are bound to it: it is different for each target, and the same after a restart.
   */
  place(entry: Entry): string;
  /** Reads the current value. `signal` aborts after 10 s, here and below: pass it on to `fetch` or the driver. */
  read(entry: Entry, signal: AbortSignal): Promise<TargetValue>;
  /**
   * Returns true where changes add to each other, as patches of one branch do: a change replaces no earlier one, each is rolled
   * back by itself, and `read` returns the entry's own value while the target contains it.
   */
  isCumulative?(entry: Entry): boolean;
  /** Describes what an apply would do, for a dry run. Throws `TargetRejected` where the entry cannot be applied. */
  preview?(entry: Entry, current: TargetValue, signal: AbortSignal): Promise<unknown>;
  /** Explains why the entry cannot replace the current content, such as an archived flag. */
  checkHeld?(entry: Entry, current: TargetValue): string | undefined;
  /** Sets `next.raw`, else `next.value` as JSON (`next` undefined: removes the value), if the target holds `expected`. */
  compareAndSet(
    entry: Entry,
    next: TargetValue | undefined,
    expected: TargetValue,
    attempt: AttemptContext,
    signal: AbortSignal,
  ): Promise<SetResult>;
  /**
   * Returns the value to set so that a share of the users gets the value of the entry, and all others exactly what `before` gave
   * them; for the full share of 10,000 it is what an apply over `before` sets. Reading it after setting it returns the same
   * value. Absent where the system cannot distinguish users: a change with `stages` is then 400 `value_not_allowed`.
   */
  split?(entry: Entry, share: UserShare, before: TargetValue): TargetValue;
  /** Explains why a share of the users cannot get the value of the entry; `before` is absent before the first read. */
  findSplitProblem?(entry: Entry, share: UserShare, before?: TargetValue): string | undefined;
  /**
   * Sets all values or none, in one transaction of the system; readers never see a part. Absent where the system has no
   * transactions. Throws as `compareAndSet` does; `resolve` with any of the entries finds the outcome of the attempt.
   */
  setMany?(writes: readonly Write[], signal: AbortSignal): Promise<SetManyResult>;
  /**
   * Finds the outcome of an attempt by the system's own means. `open`: it may still be carried out; undefined: it is over, and
   * only the current value shows its outcome.
   */
  resolve?(entry: Entry, attempt: Attempt, signal: AbortSignal): Promise<"done" | "not_done" | "open" | undefined>;
  /** Shows an operation that sets nothing. If absent, every change needs a value. */
  note?(entry: Entry, attempt: AttemptContext, signal: AbortSignal): Promise<void>;
  /** Removes copies of values that an interrupted write left. */
  removeLeftovers?(): Promise<void>;
  /** Throws when the system cannot be written now. Changes nothing and calls no other machine. */
  probe?(): Promise<void>;
  /**
   * Throws when another machine does not answer, or rejects the credentials. Changes nothing. Each cycle calls it, and its failure
   * makes the capability `target:<name>` fail. Failed reads of a system with `ping` are repeated twice.
   */
  ping?(signal: AbortSignal): Promise<void>;
}
