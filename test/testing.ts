/** What an application may test its own parts with: what every adapter and every store promises, and a service whose clock stands still. */
export { type AdapterCase, adapterCases, type MakeAdapter } from "./contract/adapter_cases.ts";
export { runCase as runStoreCase, type StoreCase, storeCases, type Subject } from "./contract/store_cases.ts";
export { pass, type TestClock, testClock } from "./support/clock.ts";
export { opened as testDeps, type TestDeps, type TestOptions } from "./support/deps.ts";
export { countedIds } from "./support/ids.ts";
