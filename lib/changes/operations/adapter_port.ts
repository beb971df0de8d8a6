/** The port through which the service reads and changes target systems. */
import type { GithubGate } from "../../github/gate.ts";
import type { Stages } from "../../rollout/stages.ts";
import type { Change } from "../rules/change.ts";

/**
 * The host product's state of a change. `absent`: it shows nothing of the change; `unknown`: the target holds neither the
 * change's value nor the one before it.
 */
export type HostState = "applied" | "rolled_back" | "absent" | "unknown";

/** The result of an adapter; `result` is a word for people and programs (`applied`, `rolled_back`, `superseded`). */
export interface AdapterResult {
  result: string;
  detail?: unknown;
  /** Value that the target held before this change was applied; `null`: nothing; absent: the adapter cannot say. */
  previous?: { value: unknown } | null | undefined;
}

/** A value that was set again. */
export interface RestoreResult {
  /** `unchanged`: the target held the value already. */
  result: "restored" | "unchanged";
  /** Digest of the value that it replaced: hex SHA-256 of its RFC 8785 JSON; `null`: nothing was there. */
  replaced_digest?: string | null | undefined;
  detail?: unknown;
}

/** The host product's answer before anything is touched; `preview` shows what apply would do, for a dry run. */
export type Validation = { ok: true; preview?: unknown } | { ok: false; reason: string };

/** Facts of the log for the rollback of an applied change. */
export interface RollbackFacts {
  /** True if a later change that sets a value owns the target: then nothing is restored. */
  superseded: boolean;
  /**
   * Digest of the value to restore: hex SHA-256 of its RFC 8785 JSON; `null`: nothing was there; absent: the log does not say.
   */
  digest?: string | null | undefined;
  /** Returns true if the log shows another change as applied. */
  isApplied(changeId: string): Promise<boolean>;
}

/** Reads the facts for a rollback; undefined if the log does not have them. */
export type ReadRollbackFacts = (changeId: string) => Promise<RollbackFacts | undefined>;

/** A target holds neither the value of a change nor the value before it, and the rollback wrote nothing. */
export class TargetDrifted extends Error {
  override readonly name = "TargetDrifted";
  /** The value that the change set, and the current one; `null` for nothing. */
  readonly values: { expected: unknown; held: unknown };
  /** The change whose rollback found the drift. */
  readonly change_id: string | undefined;
  constructor(message: string, values: { expected: unknown; held: unknown }, change_id?: string) {
    super(message);
    this.values = values;
    this.change_id = change_id;
  }
}

/** A target holds a value that an apply may not replace, and nothing was written. */
export class TargetMoved extends Error {
  override readonly name = "TargetMoved";
  /** The current value. */
  readonly found: Reading;
  /** The change that was to replace it. */
  readonly change_id: string | undefined;
  constructor(found: Reading, change_id?: string) {
    super("the target holds another value than the consent saw");
    this.found = found;
    this.change_id = change_id;
  }
}

/** No target system takes a target of a tenant; the message says why. */
export class NoTargetSystem extends Error {
  override readonly name = "NoTargetSystem";
}

/** Runs a lookup of a target; returns undefined if no target system takes the target. */
export function ignoreUncovered<T>(find: () => T): T | undefined {
  try {
    return find();
  } catch (error) {
    if (error instanceof NoTargetSystem) return undefined;
    throw error;
  }
}

/** A system, and the place in it where a value is set. */
export interface Location {
  system: string;
  /** Type, address without credentials, key, and every option that decides where a value is written. */
  place: string;
}

/** The current value of a target; `value` is absent if the target holds nothing. */
export interface Reading {
  value?: unknown;
  /** Differs when the value differs. */
  version: string;
  /** Explains why the proposed value cannot replace the current one. */
  problem?: string | undefined;
}

/** The configuration of target systems, for the log. */
export interface TargetsInForce {
  /** SHA-256 of the file. */
  hash: string;
  /** Name, type, address and templates of each system. */
  systems: readonly object[];
}

/** Fields of a change that say where a value is set. */
export type ChangeAtTarget = Pick<Change, "tenant_id" | "target" | "kind" | "value">;

/** Patterns of targets, kinds and tenants. */
export interface ReachScope {
  targets: readonly string[];
  kinds: readonly string[];
  tenants: readonly string[] | "all";
}

/** A value, and the rollout that gives it to a growing share of the users. */
export type ChangeWithStages = ChangeAtTarget & { stages?: Stages | undefined };

/**
 * Carries approved changes to the host product. Each entry of a plan is passed as a change with the id
 * `<change_id>.<number from 1>`. Every operation is safe to repeat for one `change_id`, stops when `signal` aborts (after 10 s),
 * and throws if it fails; the thrown message is audited, so it must hold no secrets. After `Unanswered` an operation may still
 * take effect: the service asks the host again until its state is certain. `validate` and `verify` change nothing. If the
 * host shows nothing of an applied change, `rollback` restores the value before it, or throws.
 */
export interface ProductAdapter {
  readonly name: string;
  /** Recorded in the log before the first change under it. */
  readonly configuration?: TargetsInForce | undefined;
  /** Returns where a value is set, without a call to a system; absent: at the adapter's name. Throws `NoTargetSystem`. */
  locate?(entry: ChangeAtTarget): Location;
  /** Lists the names of the systems that changes of such targets may reach; absent: all. */
  reach?(scope: ReachScope): string[];
  /**
   * Lists the targets of another system that correspond to an entry's target: `{rest}` of their names is the same. Throws
   * `NoTargetSystem`.
   */
  counterparts?(entry: ChangeAtTarget, system: string): string[];
  /** Returns a function that reads the target of an entry; undefined if its system cannot be read. */
  reader?(entry: ChangeWithStages): ((signal: AbortSignal) => Promise<Reading>) | undefined;
  /** Explains why the system cannot hold the value of an entry, without a call to the system. */
  check?(entry: ChangeWithStages): string | undefined;
  /** Returns true if the system of an entry can give shares of the users different values. */
  holdsSplits?(entry: ChangeAtTarget): boolean;
  /** Returns true if a proposal reads the target: its system is on this machine, and its value decides what can be set. */
  judgesByReading?(entry: ChangeAtTarget): boolean;
  /** Returns true if changes of a target add up, so that no later change supersedes an earlier one. */
  isCumulative?(entry: ChangeAtTarget): boolean;
  /** The systems of an adapter that has several, each with an adapter of its own. */
  readonly systems?: readonly { name: string; match: readonly string[]; adapter: ProductAdapter }[];
  /** Returns false for a change that is only recorded and set on no system; absent: every change is set. */
  carries?(change: ChangeAtTarget): boolean;
  /**
   * Returns true for a target whose release other tools may request (`/api/gate`); absent: every target. Throws
   * `NoTargetSystem`.
   */
  isGate?(entry: ChangeAtTarget): boolean;
  /** Patterns of the targets whose release other tools may request; absent: every target. */
  readonly gates?: readonly string[] | undefined;
  /** Gates whose deployments a GitHub App requests. */
  readonly githubGates?: readonly GithubGate[] | undefined;
  validate(change: Change & ChangeWithStages, signal: AbortSignal): Promise<Validation>;
  /** `expected`: the digests of the only values that may be replaced; throws `TargetMoved` if the target holds another. */
  apply(change: Change & ChangeWithStages, signal: AbortSignal, expected?: readonly string[]): Promise<AdapterResult>;
  verify(change: Change, signal: AbortSignal): Promise<HostState>;
  /**
   * `readFacts`: an adapter that stores replaced values compares them with the log before it restores them. `overDrift`: restores
   * over a value that another program set, instead of throwing `TargetDrifted`.
   */
  rollback(
    change: Change,
    signal: AbortSignal,
    readFacts?: ReadRollbackFacts,
    overDrift?: boolean,
  ): Promise<AdapterResult>;
  /**
   * Names the transaction in which a system sets several values: entries of a plan with the same name are set together. Undefined
   * if each value is set by itself.
   */
  setsTogether?(entry: ChangeAtTarget): string | undefined;
  /** As `apply`, of several changes: all of them or none. `expected`: a list for each change. */
  applyAll?(
    changes: readonly (Change & ChangeWithStages)[],
    signal: AbortSignal,
    expected?: readonly (readonly string[] | undefined)[],
  ): Promise<AdapterResult[]>;
  /** As `rollback`, of several changes: all of them or none. */
  rollbackAll?(
    changes: readonly Change[],
    signal: AbortSignal,
    readFacts?: ReadRollbackFacts,
    overDrift?: boolean,
  ): Promise<AdapterResult[]>;
  /**
   * Returns the values for which `rollback` would throw `TargetDrifted`; undefined if it would not. Changes nothing.
   */
  findDrift?(
    change: Change,
    signal: AbortSignal,
    readFacts?: ReadRollbackFacts,
  ): Promise<TargetDrifted["values"] | undefined>;
  /**
   * Sets the value of an applied change again, by compare-and-set; the value that a rollback restores stays the same. `id` names
   * the restore. Absent if the system has no compare-and-set.
   */
  restore?(change: Change, id: string, signal: AbortSignal, readFacts?: ReadRollbackFacts): Promise<RestoreResult>;
  /** Finds the result of a restore; `not_done` if it set nothing, `open` if it may still take effect. */
  findRestore?(change: Change, id: string, signal: AbortSignal): Promise<RestoreResult | "not_done" | "open">;
  /** Returns true for a change whose value can be set again. */
  canRestore?(change: ChangeAtTarget): boolean;
  /**
   * Sets the split of a step (from 0) of an applied change with stages; after the last step, the value for all users. Sets nothing
   * and throws `TargetDrifted` if the target does not hold the split that was set last. The value that a rollback restores stays
   * the same. Absent if the system cannot split values between users: then `check` rejects stages.
   */
  setStage?(
    change: Change & ChangeWithStages,
    step: number,
    signal: AbortSignal,
    readFacts?: ReadRollbackFacts,
  ): Promise<AdapterResult>;
  /** Finds out whether the split of a step is the one that was set last; `open`: an attempt may still take effect. */
  findStage?(
    change: Change & ChangeWithStages,
    step: number,
    signal: AbortSignal,
  ): Promise<"done" | "not_done" | "open">;
  /** Returns the current value of the change's target; `null`: nothing; undefined: the host does not say. Changes nothing. */
  held?(change: Change, signal: AbortSignal): Promise<{ value: unknown } | null | undefined>;
  /** Checks that other machines can be reached, for `findProblem` to report; does not throw if they cannot. */
  ping?(signal: AbortSignal): Promise<void>;
  /** Explains why the host product cannot be changed now, without a call to it; null if no reason is known. */
  findProblem?(): Promise<string | null>;
  /** Removes the adapter's own copies of an erased content; absent if it stores none. */
  forget?(change: Change, signal: AbortSignal): Promise<void>;
}

/** Reason for the rejection of stages. */
export const NO_SPLIT = "its target system splits no values between users";

/** Explains why an adapter cannot roll out a change in steps: without `setStage` it would give all users the value. */
export const findRolloutProblem = (
  adapter: ProductAdapter,
  { stages }: Pick<ChangeWithStages, "stages">,
): string | undefined => (stages && !adapter.setStage ? NO_SPLIT : undefined);
