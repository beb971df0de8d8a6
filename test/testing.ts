/** Parts to test an application with: the promises of every adapter, target system and store, and a service whose clock stands still. */
export { type AdapterCase, adapterCases, type MakeAdapter } from "./contract/adapter_cases.ts";
export { type MadeTarget, type MakeTarget, type TargetCase, targetCases } from "./contract/target_system_cases.ts";
export { runCase as runStoreCase, type StoreCase, storeCases, type Subject } from "./contract/store_cases.ts";
export { pass, type TestClock, testClock } from "./support/clock.ts";
export { openDeps as testDeps, type TestDeps, type TestOptions } from "./support/deps.ts";
export { countedIds } from "./support/ids.ts";
