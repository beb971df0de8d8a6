/** The interface of an engine that several processes write to: it reads and commits batches of decisions. */
import type { Awaitable, Key, Version, View } from "./view.ts";

/** A version to store, with the version that it replaces. */
export interface Write extends Version {
  readonly before: Version | undefined;
  /** True if the record was put as new without reading it: the commit fails if it exists, or was deleted at the same or a higher revision. */
  readonly unread?: boolean;
}

/**
 * One attempt to run and commit a batch. It starts immediately: reads may be sent along with the request for the head.
 * An error of any method ends the attempt, and none of its writes is stored.
 */
export interface Attempt extends View {
  /**
   * Name of the last commit. This attempt's commit is rejected if another commit followed. So everything that was read
   * since the last commit is still current when this attempt commits.
   */
  readonly head: Awaitable<string>;
  /**
   * Makes all writes durable, or none, and returns the name of this commit. Without writes, it checks that the head has not
   * moved and returns the name of the last commit. Errors: `Contended` if the head has moved.
   */
  commit(writes: readonly Write[]): Promise<string>;
  /** Ends the attempt without a commit; never rejects. */
  abandon(): Promise<void>;
}

/** A store engine that many processes write to. */
export interface Engine {
  /** `lastCommit`: the expected last commit. The attempt may use it as head without a request, since the commit verifies it. */
  begin(lastCommit?: string): Attempt;
  /** Limits of one commit, in records and bytes of text: at least the limits of one decision. */
  readonly limits: { readonly writes: number; readonly bytes: number };
  /** Number of attempts for a batch that conflicts with others; 8 by default. */
  readonly maxTries?: number;
  /** Throws if the engine cannot store a record; then only the transaction with this record is rejected. */
  check?(version: Version): void;
  /**
   * Returns the version that a record has if it is absent, so that a put as new needs no read: the commit is rejected if the
   * record exists. Returns undefined where this version is not known.
   */
  assumeAbsent?(key: Key): { readonly found: Version | undefined } | undefined;
}

/** Another process committed first, or has locked the store; another attempt may succeed a little later. */
export class Contended extends Error {
  override readonly name = "Contended";
}
