/** The port to a target system: the file, flag service, database or repository that a change sets a value in. */
import type { Change } from "../changes/rules/change.ts";

/**
 * The value that a change sets (absent where it sets none), and its target. Targets are compared without case; `target` has the
 * spelling that was used first.
 */
export type Entry = Pick<Change, "tenant_id" | "target" | "kind" | "value">;

/** The current content of a target. */
export interface TargetValue {
  /** The value in the terms of the entry that it was read for; absent where the target holds nothing. */
  value?: unknown;
  /** Differs when the value differs; it may differ more often. It comes back as `expected`. */
  version: string;
  /** The text as it was read, where parsing would lose some of it: a rollback passes it back, to set the same bytes. */
  raw?: string | undefined;
}

/** Part of the users that a step of a rollout gives the value to. */
export interface UserShare {
  /** Attribute that tells users apart. A user without it is outside of every share. */
  unit: string;
  /** Id of the change. With the unit it decides the bucket of a user, so a share that grows only adds users. */
  salt: string;
  /** Size of the share, of 10,000. */
  share: number;
}

/** One operation of a change on its target system. Write `change_id` where the people of that system see it. */
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
  /** The change whose value an apply replaces, or a rollback brings back. */
  replaced?: OtherChange | undefined;
  /** The later change that keeps the target at a rollback. */
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
  /** One attempt for all writes of a set, each with its entry of the plan and the other changes of its own target. */
  attempt: AttemptContext;
}

/** The result of a set of writes: the versions in their order, or the first conflict; nothing was set where it is not done. */
export type SetManyResult =
  | { done: true; versions: readonly string[] }
  | { done: false; index: number; conflict: TargetValue }
  | { done: false; rejected: string };

/** The target system is not one that a change can be applied to; the message is for the caller. */
export class TargetRejected extends Error {
  override readonly name = "TargetRejected";
}

/**
 * Reads a target, and sets it if it still holds what was read. A write throws `Unanswered` when the value may be set or may
 * still come; any other error means that it was not set. Messages are audited: they hold no secret and no value.
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
   * Returns type, address without credentials, and key, with every option that decides where the value is written. Consents are
   * bound to it: two targets differ, and a restart changes nothing.
   */
  place(entry: Entry): string;
  /** Reads the current value. `signal` aborts after 10 s, here and below: pass it on to `fetch` or the driver. */
  read(entry: Entry, signal: AbortSignal): Promise<TargetValue>;
  /**
   * Returns true where changes add to each other, as patches of one branch do: a later change replaces no earlier one, each is
   * rolled back by itself, and `read` returns the entry's own value while the target contains it.
   */
  isCumulative?(entry: Entry): boolean;
  /** Describes what an apply would do, for a dry run. Throws `TargetRejected` where the entry cannot be applied. */
  preview?(entry: Entry, current: TargetValue, signal: AbortSignal): Promise<unknown>;
  /** Explains why the entry cannot be set on what the target holds, such as an archived flag. */
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
   * Returns what to set so that a share of the users gets the value of the entry, and everybody else exactly what `before` gave
   * them; of 10,000, what an apply over `before` sets. Setting it and reading it gives the same value. Absent where the system
   * cannot tell users apart: a change with `stages` is then 400 `value_not_allowed`.
   */
  split?(entry: Entry, share: UserShare, before: TargetValue): TargetValue;
  /** Explains why a share of the users cannot get the value of the entry; `before` is absent where it was not read yet. */
  findSplitProblem?(entry: Entry, share: UserShare, before?: TargetValue): string | undefined;
  /**
   * Sets all of them or none, as one transaction of the system; readers never see a part. Absent where the system has none.
   * Throws as `compareAndSet` does, and `resolve` of any of the entries says what became of the attempt.
   */
  setMany?(writes: readonly Write[], signal: AbortSignal): Promise<SetManyResult>;
  /**
   * Finds out by the system's own means what became of an attempt. `open`: it may still come; undefined: it is over, and only
   * the current value shows what became of it.
   */
  resolve?(entry: Entry, attempt: Attempt, signal: AbortSignal): Promise<"done" | "not_done" | "open" | undefined>;
  /** Shows an operation that sets nothing. Where it is absent, every change needs a value. */
  note?(entry: Entry, attempt: AttemptContext, signal: AbortSignal): Promise<void>;
  /** Removes copies of values that an interrupted write left. */
  removeLeftovers?(): Promise<void>;
  /** Throws when the system cannot be written now. Touches nothing and calls no other machine. */
  probe?(): Promise<void>;
  /**
   * Throws when another machine does not answer, or rejects the credentials. Touches nothing. Each cycle calls it, and its failure
   * makes the capability `target:<name>` fail. Reads of a system that has it are repeated twice.
   */
  ping?(signal: AbortSignal): Promise<void>;
}
