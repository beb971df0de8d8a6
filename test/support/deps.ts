import { createDeps, type Deps } from "../../lib/deps.ts";
import type { ProductAdapter } from "../../lib/governance/adapters/port.ts";
import { identityOf, openProduct, type OpenOptions } from "../../lib/governance/open.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { type TestClock, testClock } from "./clock.ts";
import { countedIds } from "./ids.ts";
import { intentOf, type Manifest } from "./intents.ts";

/** What a test may choose; the rest is real, with a clock that stands still and counted ids. */
export interface TestOptions extends Omit<Partial<Deps>, "product" | "clock"> {
  /** Members of the intent, `null` for a service without one. */
  intent?: Manifest | null | undefined;
  adapter?: ProductAdapter | undefined;
  clock?: TestClock;
}

export type TestDeps = Deps & { clock: TestClock };

/** Everything a handler needs, over the memory store. */
export function testDeps({ intent = {}, adapter, ...given }: TestOptions = {}): TestDeps {
  const product = intent && {
    ...intentOf(intent),
    identity: identityOf("acme-crm", "local"),
    ...(adapter ? { adapter } : {}),
  };
  const clock = given.clock ?? testClock();
  return {
    ...createDeps({ ids: countedIds(), store: memoryStore(), ...given, clock, ...(product ? { product } : {}) }),
    clock,
  };
}

/** The same, opened. */
export async function opened(options: TestOptions = {}, how?: OpenOptions): Promise<TestDeps> {
  const deps = testDeps(options);
  await openProduct(deps, how);
  return deps;
}

/**
 * Another process on the same store: nothing it knew is left but what was made durable. `over` is what it is started
 * with anew.
 */
export function restarted(deps: TestDeps, over: TestOptions = {}, how?: OpenOptions): Promise<TestDeps> {
  const { store, clock, ids } = deps;
  return opened({ store, clock, ids, adapter: deps.product?.adapter, ...over }, how);
}
