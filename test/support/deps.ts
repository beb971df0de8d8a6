import { countersign, type ServiceOptions } from "../../handlers/index.ts";
import type { Deps } from "../../lib/deps.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { type TestClock, testClock } from "./clock.ts";
import { countedIds } from "./ids.ts";
import { type Manifest, manifest } from "./intents.ts";

/** What a test may choose; the rest is real, with a clock that stands still and counted ids. */
export interface TestOptions extends Omit<Partial<ServiceOptions>, "intent" | "clock"> {
  /** Members of the intent, `null` for a service without one. */
  intent?: Manifest | null | undefined;
  clock?: TestClock | undefined;
}

export type TestDeps = Deps & { clock: TestClock };

/** Everything a handler needs, of an opened service over the memory store. */
export async function opened({ intent = {}, clock = testClock(), ...given }: TestOptions = {}): Promise<TestDeps> {
  const { deps } = await countersign({
    ids: countedIds(),
    store: memoryStore(),
    pause: async () => {},
    ...given,
    clock,
    intent: intent === null ? undefined : manifest(intent),
  });
  return deps as TestDeps;
}

/**
 * Another process on the same store: nothing it knew is left but what was made durable. `over` is what it is started
 * with anew.
 */
export function restarted(deps: TestDeps, over: TestOptions = {}): Promise<TestDeps> {
  const { store, clock, ids } = deps;
  return opened({ store, clock, ids, adapter: deps.product?.adapter, ...over });
}
