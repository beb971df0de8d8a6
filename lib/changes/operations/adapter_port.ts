import type { Change } from "../rules/change.ts";

/** What the host product shows of a change: `unknown` when it holds something that is neither. */
export type HostState = "applied" | "rolled_back" | "absent" | "unknown";

/** What an adapter did; `result` is a word for people and programs (`applied`, `rolled_back`, `superseded`). */
export interface AdapterResult {
  result: string;
  detail?: unknown;
  /** What the target held before this change was applied; `null`: nothing; absent: the adapter cannot say. */
  previous?: { value: unknown } | null | undefined;
}

/** The host product's answer before anything is touched; `preview` shows what apply would do, for a dry run. */
export type Validation = { ok: true; preview?: unknown } | { ok: false; reason: string };

/** What a rollback of an applied change has to do, as the entries of applies tell it. */
export interface RollbackFacts {
  /** Whether a later change that sets a value holds the target: then nothing is put back. */
  superseded: boolean;
  /** Of what is put back: hex SHA-256 of its RFC 8785 JSON; `null`: nothing was there; absent: the log does not say. */
  digest?: string | null | undefined;
  /** Whether the log has another change as applied. */
  isApplied(changeId: string): Promise<boolean>;
}

/** Asks the log what a rollback of a change has to do; undefined where it does not say. */
export type ReadRollbackFacts = (changeId: string) => Promise<RollbackFacts | undefined>;

/** A target holds neither what a change set nor what was there before it, and the rollback wrote nothing. */
export class TargetDrifted extends Error {
  override readonly name = "TargetDrifted";
  /** The value that the change set, and the current one; `null` for nothing. */
  readonly values: { expected: unknown; held: unknown };
  constructor(message: string, values: { expected: unknown; held: unknown }) {
    super(message);
    this.values = values;
  }
}

/**
 * Carries approved changes to the host product. Every operation is safe to repeat for one `change_id`, stops when
 * `signal` aborts (after 10 s), and throws when it fails; the thrown message is audited, so it holds no secrets. What throws
 * `Unanswered` may still be carried out: the service then asks what the host shows until it is certain.
 * `validate` and `verify` touch nothing. `rollback` of a change that was applied, and that the host shows nothing of, puts back
 * what was there before, or throws.
 */
export interface ProductAdapter {
  readonly name: string;
  validate(change: Change, signal: AbortSignal): Promise<Validation>;
  apply(change: Change, signal: AbortSignal): Promise<AdapterResult>;
  verify(change: Change, signal: AbortSignal): Promise<HostState>;
  /** `readFacts`: an adapter that stores what it replaced compares that with the log before it restores it. */
  /** `overDrift`: restores over a value that another program set, instead of throwing `TargetDrifted`. */
  rollback(
    change: Change,
    signal: AbortSignal,
    readFacts?: ReadRollbackFacts,
    overDrift?: boolean,
  ): Promise<AdapterResult>;
  /** What the change's target holds now; `null`: nothing; undefined: the host does not say. Touches nothing. */
  held?(change: Change, signal: AbortSignal): Promise<{ value: unknown } | null | undefined>;
  /** Explains why the host product cannot be changed now; null where nothing is known. Calls no other machine. */
  findProblem?(): Promise<string | null>;
  /** Removes what the adapter itself keeps of a content that was erased; absent where it keeps none. */
  forget?(change: Change, signal: AbortSignal): Promise<void>;
}
