/** What a follower is: a fold over the audit log that keeps what it makes. */
import type { ChangesDeps } from "../changes/deps.ts";
import type { Change } from "../changes/rules/change.ts";
import type { Intent } from "../changes/rules/intent.ts";
import type { Collection, Stored, Tx } from "../store/store.ts";
import type { Entry } from "./entries.ts";

declare module "../store/store.ts" {
  interface Collections {
    cursors: Cursor;
    sightings: { at: string };
  }
}

/** What following the log needs. */
export type FollowDeps = Pick<
  ChangesDeps,
  "store" | "clock" | "sha256" | "log" | "mutex" | "integrity" | "product" | "requestCache"
>;

/** How far a follower has come, as one answer goes by it. */
export function cursorOf(
  { store, requestCache }: Pick<FollowDeps, "store" | "requestCache">,
  name: string,
): Promise<Stored<Cursor> | undefined> {
  const look = () => store.get("cursors", name);
  return requestCache ? requestCache.once(`cursors/${name}`, look) : look();
}

/** No entry, and no step of one, makes a follower write more records than this. */
export const MOST_A_STEP = 20;

/**
 * Derives records from the log: the same, byte for byte, whoever derives them and when. So it goes by entries, by what does
 * not change in the records they are about, and by its own records; never by the clock or by chance.
 */
export interface Follower<S = unknown> {
  readonly name: string;
  /** What it alone writes. */
  readonly collections: readonly Collection[];
  /** Raised when it makes something else of the same entries: what was kept is then made anew. */
  readonly version?: number;
  /** Its state before the first entry. */
  readonly start: S;
  /**
   * Follows an entry from a step on, `""` at its beginning; resolves with the step to go on with when there is no more
   * room, and with nothing when it is done with the entry: at once, where it has nothing to do with it.
   */
  follow(on: Following<S>, entry: Entry, step: string): Promise<string | void> | void;
  /** Does what was due before a moment; false when there was no room for all of it. Called before each entry. */
  elapse?(on: Following<S>, until: string): Promise<boolean> | boolean;
}

/** The part of a change that stays as it is unless it is erased, and what is final of the rest. */
export type FollowedChange = Pick<
  Change,
  | "change_id"
  | "tenant_id"
  | "kind"
  | "risk"
  | "reversible"
  | "target"
  | "value"
  | "erased"
  | "status"
  | "summary"
  | "rationale"
  | "proposer"
  | "proposer_kind"
  | "created_at"
  | "kpi"
  | "expected_delta_k"
  | "approver"
  | "approval_note"
  | "approvals"
>;

/** What is told by of an intent. */
export type FollowedIntent = Pick<Intent, "kpis" | "principals">;

/** What a follower works with, beside the entry. */
export interface Following<S> {
  /** A change; "erased" where it is gone. */
  change(changeId: string): Promise<FollowedChange>;
  /** The ids of the entries about a change, the oldest first. */
  entriesAbout(changeId: string): Promise<readonly number[]>;
  /** What a manifest that was in force says of KPIs and names; where it was not kept, today's KPIs and nobody. */
  intentOf(manifestHash: string | null): Promise<FollowedIntent>;
  /** The cycle in which an entry was written. */
  tickAt(entry: number): Promise<number>;
  /** Its own collections. */
  readonly tx: Tx;
  /** Its small state, kept with its cursor; to be replaced, not changed. */
  state: S;
  /** The newest entry that was begun. */
  position: number;
  /** Whether so many more records may be written now. */
  room(writes: number): boolean;
}

/** `cursors/<name>`: how far a follower has come, and its state there. */
export interface Cursor<S = unknown> {
  /** The last entry that was followed to its end. */
  entry: number;
  /** The follower's version. */
  version?: number;
  /** Where to go on within the next. */
  step: string;
  state: S;
  /** What is cleared away first: which of its collections, and after which record. */
  clearing?: { place: number; after: string };
}
