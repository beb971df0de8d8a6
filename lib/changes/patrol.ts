/**
 * The patrol: each cycle looks at a slice of the log and of the records, the newest entries and then the rest in turn, so that
 * what is edited is named within one round, and within a cycle or two where it is recent. Its memory is bounded.
 */
import { readHead } from "../audit/chain.ts";
import type { Integrity } from "../audit/integrity.ts";
import { learnOfBreach, reportBreach } from "../audit/report_breach.ts";
import { LogBroken } from "../audit/tree.ts";
import { requireEnd, verifySlice } from "../audit/verify.ts";
import { turn } from "../kit/turn.ts";
import type { ChangesDeps } from "./deps.ts";
import { learnOfLoss } from "./after_loss.ts";
import { consulting } from "./evidence.ts";
import { judgeEntries, judgeRecords, type Misfits, withFields } from "./judge.ts";
import { asRead, type Written } from "./rules/written_record.ts";
import { heldAgainst } from "./verified_record.ts";

declare module "../audit/integrity.ts" {
  interface Integrity {
    patrol?: Patrol;
  }
}

/** How far the round is, and which changes were found not to hold. */
export interface Patrol {
  /** The round goes down from here, and begins anew at the log's end. */
  entry: number;
  change: string;
  /** When it was last at work; milliseconds. */
  at: number;
  misfits: Misfits;
}

const LEAST = 1000;
const STRETCH = 250;
const CHANGES = 100;
/** Cycles that are asked for may follow each other closely. */
const PAUSE_MS = 5000;
const MOST_NAMED = 1000;

type Patrolling = Pick<ChangesDeps, "store" | "sha256" | "clock" | "integrity" | "log" | "mutex">;

/** Takes one round's share of work; what is broken is reported, and changes that do not hold are named. */
export async function patrol(deps: Patrolling): Promise<void> {
  const { store, clock, integrity } = deps;
  await learnOfLoss(deps);
  await learnOfBreach(deps, store);
  const length = (await readHead(store))?.length ?? 0;
  const now = clock.now();
  const state = (integrity.patrol ??= { entry: 0, change: "", at: -Infinity, misfits: new Map() });
  if (integrity.breach || Math.abs(now - state.at) < PAUSE_MS) return;
  state.at = now;
  const share = Math.max(LEAST, Math.ceil(length / LEAST));
  try {
    await requireEnd(deps);
    await lookAt(deps, state, { after: Math.max(0, length - share), end: length, judging: true });
    if (state.entry <= 0) state.entry = Math.max(0, length - share);
    const after = Math.max(0, state.entry - share);
    await lookAt(deps, state, { after, end: state.entry, judging: false });
    state.entry = after;
    await lookAtRecords(deps, state, share);
    await lookAgain(deps, state);
  } catch (error) {
    if (!(error instanceof LogBroken)) throw error;
    await reportBreach(deps, error.breach);
  }
}

/** Entries, and whether the records of their changes know of them; `judging`: and whether those records hold. */
async function lookAt(
  deps: Patrolling,
  { misfits }: Patrol,
  { after, end, judging }: { after: number; end: number; judging: boolean },
): Promise<void> {
  for (let from = after; from < end; from += STRETCH, await turn()) {
    const entries = await verifySlice(deps, { after: from, limit: Math.min(STRETCH, end - from) });
    note(misfits, await judgeEntries(deps, entries));
    const ids = judging ? [...new Set(entries.map(({ change_id }) => change_id))].filter((id) => id !== "") : [];
    note(misfits, await judgeRecords(deps, await recordsOf(deps, ids)));
  }
}

async function lookAtRecords(deps: Patrolling, state: Patrol, share: number): Promise<void> {
  for (let looked = 0; looked < share; looked += CHANGES, await turn()) {
    const page = await deps.store.list("changes", { after: state.change, limit: CHANGES, uncached: true });
    note(state.misfits, await judgeRecords(deps, page));
    state.change = page.length < CHANGES ? "" : page.at(-1)!.id;
    if (state.change === "") return;
  }
}

/** What was put right is no longer named. */
async function lookAgain(deps: Patrolling, { misfits }: Patrol): Promise<void> {
  for (const id of await holding(deps, [...misfits.keys()].slice(0, CHANGES))) misfits.delete(id);
}

/** Of these changes those whose records are what the whole log tells; a record that is gone is none. */
export async function holding(deps: Patrolling, ids: readonly string[]): Promise<string[]> {
  const records = await recordsOf(deps, ids);
  const bad = await judgeRecords(deps, records);
  const found: string[] = [];
  for (const { id, value } of records) {
    if (bad.has(id) || value.applied === undefined) continue;
    const { length } = (await readHead(deps.store))!;
    const { fields } = await consulting(deps, (evidence) =>
      heldAgainst({ evidence, length, sha256: deps.sha256 }, asRead({ id, value: value as Written }), id),
    );
    if (fields.length === 0) found.push(id);
  }
  return found;
}

async function recordsOf({ store }: Patrolling, ids: readonly string[]) {
  const stored = await store.getMany("changes", ids);
  return stored.flatMap((kept) => (kept ? [kept] : []));
}

function note(known: Misfits, found: Misfits): void {
  for (const [id, fields] of found)
    if (known.size < MOST_NAMED || known.has(id)) known.set(id, withFields(known.get(id), fields));
}

/** Names a change that was found not to hold when it was used. */
export const noteMisfit = ({ patrol }: Integrity, id: string, fields: readonly string[]): void => {
  if (patrol) note(patrol.misfits, new Map([[id, fields]]));
};

/** The changes that are known not to hold, a thousand of them at most. */
export const misfitsOf = ({ patrol }: Integrity): Misfits => patrol?.misfits ?? new Map();
