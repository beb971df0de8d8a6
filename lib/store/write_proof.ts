/** Proves that writes are taken, by a write of a record of its own: a store that can be read need not be writable. */
import type { Clock, Log } from "../kit/platform.ts";
import { runWithTimeLimit } from "../kit/time_limit.ts";
import { type Store, StoreUnavailable, StoreUnreadable } from "./store.ts";

declare module "./store.ts" {
  interface Meta {
    write_probe: { at: string };
  }
}

/** How long a proof may take, and so a question whether the service is ready. */
export const PROBE_MS = 2000;
/** Maximum age of the proof: after this time a request proves it, where no cycle does. */
const FRESH_MS = 10_000;
/** A cycle that proved it this recently does so again. */
const CYCLED_MS = 150_000;

/** The last proof of this process. */
export interface WriteProof {
  ok: boolean;
  reason: string | null;
  /** When; milliseconds since the epoch. */
  at: number;
  isCycle: boolean;
}

const proofs = new WeakMap<Store, { last?: WriteProof; running?: Promise<WriteProof> }>();

const stateOf = (store: Store) => {
  const state = proofs.get(store) ?? {};
  proofs.set(store, state);
  return state;
};

interface Probing {
  store: Store;
  clock: Clock;
  log: Log;
}

/** Writes, and notes within two seconds whether that was taken; several at a time share one write. */
export function proveWrites({ store, clock, log }: Probing, isCycle = false): Promise<WriteProof> {
  const state = stateOf(store);
  return (state.running ??= attempt(store, clock.now())
    .then((reason) => {
      if (reason !== null && state.last?.ok !== false) log.error("writes are not taken", { reason });
      if (reason === null && state.last?.ok === false) log.info("writes are taken again");
      return (state.last = { ok: reason === null, reason, at: clock.now(), isCycle });
    })
    .finally(() => delete state.running));
}

/** The last proof; a new one where it is old and no cycle makes it, or where writes failed. */
export function writeProof(deps: Probing): Promise<WriteProof> {
  const { last } = stateOf(deps.store);
  const age = last ? Math.abs(deps.clock.now() - last.at) : Infinity;
  const isFresh = last?.ok && age < (last.isCycle ? CYCLED_MS : FRESH_MS);
  return isFresh ? Promise.resolve(last) : proveWrites(deps);
}

/** Notes that a write of this process failed: the last proof holds no more. */
export function noteFailedWrite(store: Store): void {
  const state = stateOf(store);
  if (state.last?.ok) delete state.last;
}

/** Why the write was not taken, null where it was. */
async function attempt(store: Store, now: number): Promise<string | null> {
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
