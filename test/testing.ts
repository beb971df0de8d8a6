/** Parts for tests of an application: contract cases of adapters, target systems and stores, and a service with a manual clock. */
export { type AdapterCase, adapterCases, type MakeAdapter } from "./contract/adapter_cases.ts";
export { type MadeTarget, type MakeTarget, type TargetCase, targetCases } from "./contract/target_system_cases.ts";
export { runCase as runStoreCase, type StoreCase, storeCases, type Subject } from "./contract/store_cases.ts";
export { pass, type TestClock, testClock } from "./support/clock.ts";
export { openDeps as testDeps, type TestDeps, type TestOptions } from "./support/deps.ts";
export { countedIds } from "./support/ids.ts";
