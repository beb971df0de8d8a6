/** The work of an engine for a batch of decisions, where other processes write to the same store. */
import type { Awaitable, Key, Version, View } from "./view.ts";

/** A version to store, with the version that it replaces. */
export interface Write extends Version {
  readonly before: Version | undefined;
  /** True if the record was put as new and not read: the commit fails if it exists, or was deleted at the same or a higher revision. */
  readonly unread?: boolean;
}

/**
 * One try to carry a batch. It begins immediately: reads before the head is known may be sent with the request
 * for that. Whatever its methods reject with ends it, and nothing of it is kept.
 */
export interface Attempt extends View {
  /**
   * Names the last commit. The commit of this try is refused when another came after it; so reads after it resolved
   * holds, and so does all that was read at any time since that commit was made.
   */
  readonly head: Awaitable<string>;
  /**
   * Makes the writes durable, all or none, and names this commit, or the last one when there is nothing to write and all
   * that was read holds. Errors: `Contended` where the head has moved.
   */
  commit(writes: readonly Write[]): Promise<string>;
  /** Ends the attempt without a commit; never rejects. */
  abandon(): Promise<void>;
}

/** A store engine that many processes write to. */
export interface Engine {
  /** `last`: the last commit as far as is known, which may be taken for it without asking: the commit finds out. */
  begin(last?: string): Attempt;
  /** Limits of one commit, in records and bytes of text: as much as one decision may write, or more. */
  readonly most: { readonly writes: number; readonly bytes: number };
  /** Number of attempts for a batch that conflicts with others; 8 by default. */
  readonly tries?: number;
  /** Throws when the engine cannot hold a record; then its transaction is refused, and no other. */
  check?(version: Version): void;
  /**
   * Returns the version of a record that is put as absent, where the commit is rejected if the record exists after all:
   * so it need not be read. Undefined where that is not known for certain.
   */
  untouched?(key: Key): { readonly found: Version | undefined } | undefined;
}

/** Another process committed first, or holds the store: the same attempt may succeed a little later. */
export class Contended extends Error {
  override readonly name = "Contended";
}
