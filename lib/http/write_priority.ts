/** Governed writes go before long reads: a read waits for the writes that are under way before its next piece. */
import { runWithTimeLimit } from "../kit/time_limit.ts";

/** A read waits this long for one write at most: a host product may take a minute to answer. */
const MAX_WAIT_MS = 1000;

interface Write {
  done: Promise<unknown>;
}

const runningWrites = new WeakMap<object, Set<Write>>();

/** Runs a governed write; long reads of the same deps pause meanwhile. */
export async function runWithPriority<T>(deps: object, run: () => Promise<T>): Promise<T> {
  const writes = runningWrites.get(deps) ?? new Set<Write>();
  runningWrites.set(deps, writes);
  const write = { done: run() };
  writes.add(write);
  try {
    return await write.done;
  } finally {
    writes.delete(write);
  }
}

/** Resolves when each governed write under way has ended or was waited for; `passed` remembers those of one read. */
export async function letWritesPass(deps: object, passedWrites: WeakSet<object>): Promise<void> {
  for (const write of [...(runningWrites.get(deps) ?? [])]) {
    if (passedWrites.has(write)) continue;
    passedWrites.add(write);
    await runWithTimeLimit(() => write.done, MAX_WAIT_MS).catch(() => undefined);
  }
}
