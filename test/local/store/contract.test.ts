/** Runs the contract of stores on the file store, with small and large caches and journal files. */
import { join } from "node:path";
import { LAYOUT, type Layout } from "../../../lib/store/layout.ts";
import { nodeFiles } from "../../../local/store/files.ts";
import type { AnyStore } from "../../contract/any_store.ts";
import type { Subject } from "../../contract/store_cases.ts";
import { storeContract } from "../../contract/store_contract.ts";
import { LONG } from "../../support/run_length.ts";
import { delayableSyncs } from "./faulty_files.ts";
import { openTestStore, temporaryFolder } from "./open_test_store.ts";

/** A store on real files whose syncs are counted and can be delayed. */
async function makeSubject(layout: Layout, segmentBytes: number, memoryBytes = 0): Promise<Subject> {
  const path = join(await temporaryFolder(), "state.json");
  const { files, calls, delay } = delayableSyncs(nodeFiles);
  const open = (): Promise<AnyStore> => openTestStore(path, { files, layout, segmentBytes, memoryBytes });
  let store = await open();
  return {
    store,
    async reopen() {
      await store.close();
      return (store = await open());
    },
    stall: delay,
    syncs: () => calls.filter((call) => call === "sync").length,
  };
}

/** A layout in which the collections of the contract are in a block of `state.json`, which is in memory as a whole. */
const IN_MEMORY_LAYOUT: Layout = {
  ...LAYOUT,
  blocks: { block: ["things", "others", "values", "odd", "counters", "places", "meta", "c0", "c1", "c2", "c3"] },
  embedded: {},
};
const ABILITIES = ["reopen", "stall", "syncs"] as const;
const SMALL_MEMORY_BYTES = 4096;
const SEGMENT_BYTES = 64 * 1024 * 1024;

if (LONG) {
  storeContract(
    "the file store, with little memory",
    () => makeSubject(LAYOUT, SEGMENT_BYTES, SMALL_MEMORY_BYTES),
    ABILITIES,
  );
} else {
  storeContract("the file store", () => makeSubject(LAYOUT, SEGMENT_BYTES), ABILITIES);
  storeContract(
    "the file store, with all collections in memory",
    () => makeSubject(IN_MEMORY_LAYOUT, SEGMENT_BYTES),
    ABILITIES,
  );
  storeContract(
    "the file store, with recently used records in memory",
    () => makeSubject(LAYOUT, SEGMENT_BYTES, 16 * 1024 * 1024),
    ABILITIES,
  );
  storeContract(
    "the file store, with a new journal file every few commits",
    () => makeSubject(LAYOUT, 2000),
    ABILITIES,
  );
}
