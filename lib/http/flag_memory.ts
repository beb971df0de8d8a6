/**
 * Caches evaluated flags in this process until the log grows: a repeated evaluation only reads the head of the log. The values
 * come from the log up to that head, so an edit of stored records does not change them.
 */
import { type ChainHead, readHead } from "../audit/chain.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { ERASED_PROBLEM, type GovernedValue, type WithheldValue } from "../operations/values.ts";
import type { Store } from "../store/store.ts";

/** Approximate limit of cached values at a head, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Assumed size of a value in memory beyond its JSON text. */
const VALUE_BYTES = 1000;

/** An evaluation; `isCertain`: its result is valid until the log grows. */
export interface Evaluation<T> {
  result: T;
  bytes: number;
  isCertain: boolean;
}

/** The log as this process has read and verified it. */
interface Position {
  head: ChainHead | undefined;
  /** Number of durable entries in the log index. */
  indexed: number | undefined;
}

interface Memory extends Position {
  bytes: number;
  results: Map<string, unknown>;
}

const memories = new WeakMap<Store, Memory>();

/**
 * Creates an evaluation of values. It is uncertain without values, while they are behind the log, and if one is withheld for
 * another reason than its erasure, since that value may match the log again later.
 */
export const createEvaluation = <T>(
  { behind }: { behind: number },
  values: readonly (readonly (GovernedValue | WithheldValue)[])[],
  result: T,
): Evaluation<T> => {
  const all = values.flat();
  return {
    result,
    bytes: all.reduce((sum, value) => sum + VALUE_BYTES + JSON.stringify(value).length, 0),
    isCertain:
      behind === 0 &&
      all.length > 0 &&
      all.every((value) => value.state === "governed" || value.problem === ERASED_PROBLEM),
  };
};

/** Returns the cached result for a key at the log's current head; otherwise evaluates it. */
export async function evaluateOnce<T>(
  deps: ChangesDeps,
  key: string,
  evaluate: () => Promise<Evaluation<T>>,
): Promise<T> {
  const { store, integrity, reader } = deps;
  // A restricted reader gets other values, and nothing from a broken log is certain.
  if (reader || integrity.breach) return (await evaluate()).result;
  const position = createPosition(await readHead(store), deps);
  const memory = memories.get(store);
  if (memory && isSame(memory, position) && memory.results.has(key)) return memory.results.get(key) as T;
  const { result, bytes, isCertain } = await evaluate();
  if (isCertain && !integrity.breach && isSame(position, createPosition(await readHead(store), deps)))
    storeResult(openMemory(store, position, bytes), key, result, bytes);
  return result;
}

/** Reserves memory for more bytes; false if none is left. */
export function claimMemory(store: Store, bytes: number): boolean {
  const memory = memories.get(store);
  if (!memory || memory.bytes + bytes > MAX_BYTES) return false;
  memory.bytes += bytes;
  return true;
}

const createPosition = (head: Position["head"], { integrity }: ChangesDeps): Position => ({
  head,
  indexed: integrity.logIndex?.durable.length,
});

const isSame = (a: Position, b: Position): boolean =>
  a.indexed === b.indexed && a.head?.head === b.head?.head && a.head?.length === b.head?.length;

/** Returns the cache of a position, emptied if it has no room for so many bytes. */
function openMemory(store: Store, position: Position, bytes: number): Memory {
  const memory = memories.get(store);
  if (memory && isSame(memory, position) && memory.bytes + bytes <= MAX_BYTES) return memory;
  const empty = { ...position, bytes: 0, results: new Map() };
  memories.set(store, empty);
  return empty;
}

function storeResult(memory: Memory, key: string, result: unknown, bytes: number): void {
  if (bytes > MAX_BYTES) return;
  memory.bytes += bytes;
  memory.results.set(key, result);
}
