/** Gives governed writes priority over long reads: before its next chunk, a read waits for the writes under way. */
import { runWithTimeLimit } from "../kit/time_limit.ts";

/** Longest wait of a read for one write, since a host product may take a minute to answer. */
const MAX_WAIT_MS = 1000;

interface Write {
  result: Promise<unknown>;
}

const runningWrites = new WeakMap<object, Set<Write>>();

/** Runs a governed write; long reads of the same deps pause meanwhile. */
export async function runWithPriority<T>(deps: object, run: () => Promise<T>): Promise<T> {
  const writes = runningWrites.get(deps) ?? new Set<Write>();
  runningWrites.set(deps, writes);
  const write = { result: run() };
  writes.add(write);
  try {
    return await write.result;
  } finally {
    writes.delete(write);
  }
}

/** Waits for each governed write under way, once per write and read: `passedWrites` has the writes that the read waited for. */
export async function letWritesPass(deps: object, passedWrites: WeakSet<object>): Promise<void> {
  for (const write of [...(runningWrites.get(deps) ?? [])]) {
    if (passedWrites.has(write)) continue;
    passedWrites.add(write);
    // The read continues after the limit, and after a failed write, whose error its own caller gets.
    await runWithTimeLimit(() => write.result, MAX_WAIT_MS).catch(() => undefined);
  }
}
