import type { GithubGate } from "../../github/gate.ts";
import type { Stages } from "../../rollout/stages.ts";
import type { Change } from "../rules/change.ts";

/** The host product's state of a change; `unknown` if the target holds neither the change's value nor the one before it. */
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
  /** A later change that sets a value holds the target: then nothing is restored. */
  superseded: boolean;
  /**
   * Digest of the value to restore: hex SHA-256 of its RFC 8785 JSON; `null`: nothing was there; absent: the log does not say.
   */
  digest?: string | null | undefined;
  /** Returns true where the log has another change as applied. */
  isApplied(changeId: string): Promise<boolean>;
}

/** Reads the facts for a rollback; undefined if the log does not have them. */
export type ReadRollbackFacts = (changeId: string) => Promise<RollbackFacts | undefined>;

/** A target holds neither what a change set nor what was there before it, and the rollback wrote nothing. */
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

/** A target holds another value than an apply may replace, and nothing was written. */
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

/** The current value of a target; `value` is absent where it holds nothing. */
export interface Reading {
  value?: unknown;
  /** Differs when the value differs. */
  version: string;
  /** Explains why the value of the entry cannot be set on this. */
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
 * Carries approved changes to the host product. An entry of a plan comes as a change of its own, whose id is that of the plan, a
 * point and its number. Every operation is safe to repeat for one `change_id`, stops when
 * `signal` aborts (after 10 s), and throws when it fails; the thrown message is audited, so it holds no secrets. What throws
 * `Unanswered` may still be carried out: the service then asks what the host shows until it is certain.
 * `validate` and `verify` touch nothing. `rollback` of a change that was applied, and that the host shows nothing of, puts back
 * what was there before, or throws.
 */
export interface ProductAdapter {
  readonly name: string;
  /** Recorded in the log before the first change under it. */
  readonly configuration?: TargetsInForce | undefined;
  /** Returns where a value is set; without it the place is the adapter's name. Asks nothing. Throws `NoTargetSystem`. */
  locate?(entry: ChangeAtTarget): Location;
  /** Lists the names of the systems that changes of such targets may reach; absent: all. */
  reach?(scope: ReachScope): string[];
  /**
   * Lists the targets of a named system that stand for the same thing (`{rest}`) as the target of an entry. Throws
   * `NoTargetSystem`.
   */
  counterparts?(entry: ChangeAtTarget, system: string): string[];
  /** Returns what reads the target of an entry; undefined where its system cannot be read. */
  reader?(entry: ChangeWithStages): ((signal: AbortSignal) => Promise<Reading>) | undefined;
  /** Explains why the system cannot hold the entry, without asking it. */
  check?(entry: ChangeWithStages): string | undefined;
  /** Returns true where the system of an entry gives each share of the users another value. */
  holdsSplits?(entry: ChangeAtTarget): boolean;
  /** Returns true where a proposal reads the target: its system is on this machine, and its value decides what can be set. */
  judgesByReading?(entry: ChangeAtTarget): boolean;
  /** Returns true where changes of a target add to each other: no later one supersedes an earlier. */
  isCumulative?(entry: ChangeAtTarget): boolean;
  /** The systems of an adapter that has several, each with a capability of its own. */
  readonly systems?: readonly { name: string; match: readonly string[]; adapter: ProductAdapter }[];
  /** Returns false for a change that is only recorded: nothing of it is set anywhere. Without it every change is carried. */
  carries?(change: ChangeAtTarget): boolean;
  /**
   * Returns true for a target that other tools ask for (`/api/gate`); without it every target may be asked for. Throws
   * `NoTargetSystem`.
   */
  isGate?(entry: ChangeAtTarget): boolean;
  /** Patterns of the targets that others may ask for; absent: every target. */
  readonly gates?: readonly string[] | undefined;
  /** Gates whose deployments a GitHub App asks for. */
  readonly githubGates?: readonly GithubGate[] | undefined;
  validate(change: Change & ChangeWithStages, signal: AbortSignal): Promise<Validation>;
  /** `expected`: the digests of the only values that may be replaced; for another it throws `TargetMoved`. */
  apply(change: Change & ChangeWithStages, signal: AbortSignal, expected?: readonly string[]): Promise<AdapterResult>;
  verify(change: Change, signal: AbortSignal): Promise<HostState>;
  /** `readFacts`: an adapter that stores what it replaced compares that with the log before it restores it. */
  /** `overDrift`: restores over a value that another program set, instead of throwing `TargetDrifted`. */
  rollback(
    change: Change,
    signal: AbortSignal,
    readFacts?: ReadRollbackFacts,
    overDrift?: boolean,
  ): Promise<AdapterResult>;
  /**
   * Names what sets several values as one transaction: entries of a plan with the same name are set together. Undefined where each
   * is set by itself.
   */
  setsTogether?(entry: ChangeAtTarget): string | undefined;
  /** As `apply`, of several changes: all of them or none. `expected` by change. */
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
   * Returns the values of a target over which `rollback` would throw `TargetDrifted`; undefined where there is none. Touches
   * nothing.
   */
  findDrift?(
    change: Change,
    signal: AbortSignal,
    readFacts?: ReadRollbackFacts,
  ): Promise<TargetDrifted["values"] | undefined>;
  /**
   * Sets the value of an applied change again, by compare-and-set; what a rollback restores stays as it is. `id` names the
   * restore. Absent where the system cannot set a value so.
   */
  restore?(change: Change, id: string, signal: AbortSignal, readFacts?: ReadRollbackFacts): Promise<RestoreResult>;
  /** Finds out what became of a restore: its result, `not_done`, or `open` where it may still come. */
  findRestore?(change: Change, id: string, signal: AbortSignal): Promise<RestoreResult | "not_done" | "open">;
  /** Returns true for a change whose value can be set again. */
  canRestore?(change: ChangeAtTarget): boolean;
  /**
   * Sets the split of a step of an applied change with stages, counted from 0; past the last step, its value for everybody. It
   * sets nothing where the target does not hold the split that was set last (`TargetDrifted`). What a rollback restores stays as
   * it is. Absent where no value can be split between users: then `check` rejects stages.
   */
  setStage?(
    change: Change & ChangeWithStages,
    step: number,
    signal: AbortSignal,
    readFacts?: ReadRollbackFacts,
  ): Promise<AdapterResult>;
  /** Finds out whether the split of a step is the one that was set last; `open`: an attempt may still come. */
  findStage?(
    change: Change & ChangeWithStages,
    step: number,
    signal: AbortSignal,
  ): Promise<"done" | "not_done" | "open">;
  /** Returns the current value of the change's target; `null`: nothing; undefined: the host does not say. Touches nothing. */
  held?(change: Change, signal: AbortSignal): Promise<{ value: unknown } | null | undefined>;
  /** Looks whether other machines can be reached, for `findProblem` to report. Throws nothing of theirs. */
  ping?(signal: AbortSignal): Promise<void>;
  /** Explains why the host product cannot be changed now; null where nothing is known. Calls no other machine. */
  findProblem?(): Promise<string | null>;
  /** Removes what the adapter itself keeps of a content that was erased; absent where it keeps none. */
  forget?(change: Change, signal: AbortSignal): Promise<void>;
}

export const NO_SPLIT = "its target system splits no values between users";

/** Explains why an adapter cannot roll out a change in steps; one that knows no steps would give everybody the value. */
export const findRolloutProblem = (
  adapter: ProductAdapter,
  { stages }: Pick<ChangeWithStages, "stages">,
): string | undefined => (stages && !adapter.setStage ? NO_SPLIT : undefined);
