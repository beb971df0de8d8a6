/** Checks that the store can be written to, by writing a probe record: a readable store need not be writable. */
import type { Clock, Log } from "../kit/platform.ts";
import { runWithTimeLimit } from "../kit/time_limit.ts";
import { type Store, StoreUnavailable, StoreUnreadable } from "./store.ts";

declare module "./store.ts" {
  interface Meta {
    write_probe: { at: string };
  }
}

/** Time limit of a probe, and so of a readiness check. */
export const PROBE_MS = 2000;
/** Maximum age of a proof that a request made. */
const MAX_AGE_MS = 10_000;
/** Maximum age of a proof that a cycle made; cycles repeat it more often than that. */
const MAX_AGE_FROM_CYCLE_MS = 150_000;

/** The last proof of this process. */
export interface WriteProof {
  ok: boolean;
  reason: string | null;
  /** Time of the proof; milliseconds since the epoch. */
  at: number;
  isFromCycle: boolean;
}

const proofs = new WeakMap<Store, { last?: WriteProof; running?: Promise<WriteProof> }>();

const getState = (store: Store) => {
  const state = proofs.get(store) ?? {};
  proofs.set(store, state);
  return state;
};

interface ProbeDeps {
  store: Store;
  clock: Clock;
  log: Log;
}

/** Writes a probe record and records within two seconds whether this succeeded; concurrent calls share one write. */
export function proveWrites({ store, clock, log }: ProbeDeps, isFromCycle = false): Promise<WriteProof> {
  const state = getState(store);
  return (state.running ??= writeProbe(store, clock.now())
    .then((reason) => {
      if (reason !== null && state.last?.ok !== false) log.error("writes are not taken", { reason });
      if (reason === null && state.last?.ok === false) log.info("writes are taken again");
      return (state.last = { ok: reason === null, reason, at: clock.now(), isFromCycle });
    })
    .finally(() => delete state.running));
}

/** Returns the last proof, or a new one if the last one is too old or failed. */
export function writeProof(deps: ProbeDeps): Promise<WriteProof> {
  const { last } = getState(deps.store);
  // Absolute, since the clock may have been set back.
  const age = last ? Math.abs(deps.clock.now() - last.at) : Infinity;
  const isFresh = last?.ok && age < (last.isFromCycle ? MAX_AGE_FROM_CYCLE_MS : MAX_AGE_MS);
  return isFresh ? Promise.resolve(last) : proveWrites(deps);
}

/** Drops the last proof after a failed write of this process. */
export function noteFailedWrite(store: Store): void {
  const state = getState(store);
  if (state.last?.ok) delete state.last;
}

/** Writes the probe record; returns the reason why that failed, or null. */
async function writeProbe(store: Store, now: number): Promise<string | null> {
  const at = new Date(now).toISOString();
  try {
    await runWithTimeLimit(() => store.transact((tx) => tx.put("meta", "write_probe", { at })), PROBE_MS);
    return null;
  } catch (error) {
    const shown = error instanceof StoreUnavailable ? error.shown : undefined;
    const problem = error instanceof StoreUnreadable ? "cannot be read" : "cannot be written";
    return `the store ${problem}${shown ? `: ${shown}` : ""}; see the service's log`;
  }
}
