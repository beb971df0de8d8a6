/** The contract of a projection: a fold over the audit log that stores derived records. */
import type { ChangesDeps } from "../changes/deps.ts";
import type { Change } from "../changes/rules/change.ts";
import type { Intent } from "../changes/rules/intent.ts";
import type { Collection, Tx } from "../store/store.ts";
import type { Entry } from "./entries.ts";

declare module "../store/store.ts" {
  interface Collections {
    cursors: Cursor;
    /** `sightings/<entry>`: the moment up to which projections applied time after that entry, for rebuilds. */
    sightings: { at: string };
  }
}

/** Dependencies of projecting. */
export type ProjectionDeps = Pick<
  ChangesDeps,
  "store" | "clock" | "sha256" | "log" | "mutex" | "integrity" | "product" | "requestCache"
>;

/** Most records that a projection writes for one entry, or for one step of it. */
export const MAX_WRITES_PER_STEP = 20;

/**
 * Derives records from the log that are the same, byte for byte, in every process and after every rebuild. It therefore reads
 * entries, the fixed part of the changes that they name, and its own records; never the clock or chance.
 */
export interface Projection<S = unknown> {
  readonly name: string;
  /** The collections that it alone writes. */
  readonly collections: readonly Collection[];
  /** Raise it when a change of the code derives other records from the same entries; they are then rebuilt. */
  readonly version?: number;
  /** Its state before the first entry. */
  readonly start: S;
  /**
   * Applies an entry from a step on; the first step is `""`, which is 0 as a number. Returns the step to continue with when there is no
   * room for more writes, and nothing when the entry is done.
   */
  apply(context: ProjectionContext<S>, entry: Entry, step: string): Promise<string | void> | void;
  /** Applies what was due before a moment; false if there was no room for all of it. Called before each entry and at the end. */
  applyTime?(context: ProjectionContext<S>, until: string): Promise<boolean> | boolean;
}

/** The part of a change that stays the same unless it is erased, and its final decision. */
export type ProjectedChange = Pick<
  Change,
  | "change_id"
  | "tenant_id"
  | "kind"
  | "risk"
  | "reversible"
  | "target"
  | "value"
  | "sets"
  | "stages"
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

/** The part of an intent that projections use. */
export type ProjectedIntent = Pick<Intent, "kpis" | "principals">;

/** Reads of facts that no longer change once an entry names them. */
export interface FactReader {
  /** Reads a change; in place of a missing one, a change with "erased" as tenant, target and summary, and without names. */
  readChange(changeId: string): Promise<ProjectedChange>;
  /** Lists the ids of the entries about a change, oldest first. */
  listEntries(changeId: string): Promise<readonly number[]>;
  /** Reads an intent that was in force; if it is not stored, the current KPIs without principals. */
  readIntent(manifestHash: string | null): Promise<ProjectedIntent>;
  /** Returns the cycle in which an entry was written. */
  readTick(entry: number): Promise<number>;
}

/** Reads and writes of a projection while it applies an entry. */
export interface ProjectionContext<S> extends FactReader {
  /** Its own collections. */
  readonly tx: Tx;
  /** Its small state, stored with its cursor; replace it, never mutate it. */
  state: S;
  /** The entry that is applied; while time is applied, the entry before that time. */
  position: number;
  /** Returns true if so many more records may be written now. */
  hasRoom(writes: number): boolean;
}

/** `cursors/<name>`: the position of a projection in the log, and its state there. */
export interface Cursor<S = unknown> {
  /** The last entry that was applied completely. */
  entry: number;
  /** The projection's version. */
  version?: number;
  /** The step to continue with in the next entry. */
  step: string;
  state: S;
  /** Rows to delete first: `place` is the index of the collection, `after` the last id that was deleted in it. */
  clearing?: { place: number; after: string };
}

/** Reads a cursor, at most once per request. */
export function readCursor(
  { store, requestCache }: Pick<ProjectionDeps, "store" | "requestCache">,
  { name }: Pick<Projection, "name">,
): Promise<Cursor | undefined> {
  const read = async () => (await store.get("cursors", name))?.value;
  return requestCache ? requestCache.once(`cursors/${name}`, read) : read();
}

/** The cursor before the first entry, with all earlier rows to be deleted. */
export const startCursor = ({ start, version }: Projection): Cursor => ({
  entry: 0,
  ...(version === undefined ? {} : { version }),
  step: "",
  state: start,
  clearing: { place: 0, after: "" },
});

/** Returns true if the rows of a projection contain every entry of a log of this length. */
export const isCaughtUp = ({ version }: Projection, cursor: Cursor | undefined, length: number): boolean =>
  cursor?.entry === length && cursor.step === "" && !cursor.clearing && cursor.version === version;
