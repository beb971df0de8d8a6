import { join } from "node:path";
import { LAYOUT, type Layout } from "../../../lib/store/layout.ts";
import { nodeFiles } from "../../../local/store/files.ts";
import type { AnyStore } from "../../contract/any_store.ts";
import type { Subject } from "../../contract/store_cases.ts";
import { storeContract } from "../../contract/store_contract.ts";
import { LONG } from "../../support/run_length.ts";
import { heldSyncs } from "./faults.ts";
import { opened, temporaryFolder } from "./opened.ts";

/** A store on real files whose syncs are counted and can be held back. */
async function subject(layout: Layout, segmentBytes: number, memoryBytes = 0): Promise<Subject> {
  const path = join(await temporaryFolder(), "state.json");
  const { files, calls, hold } = heldSyncs(nodeFiles);
  const open = (): Promise<AnyStore> => opened(path, { files, layout, segmentBytes, memoryBytes });
  let store = await open();
  return {
    store,
    async reopen() {
      await store.close();
      return (store = await open());
    },
    stall: hold,
    syncs: () => calls.filter((call) => call === "sync").length,
  };
}

const inMemory: Layout = {
  ...LAYOUT,
  blocks: { block: ["things", "others", "values", "odd", "counters", "places", "meta", "c0", "c1", "c2", "c3"] },
  embedded: {},
};
const abilities = ["reopen", "stall", "syncs"] as const;
const few = 4096;
const large = 64 * 1024 * 1024;

if (LONG) {
  storeContract("the file store, with little of that", () => subject(LAYOUT, large, few), abilities);
} else {
  storeContract("the file store", () => subject(LAYOUT, large), abilities);
  storeContract("the file store, with collections held in memory", () => subject(inMemory, large), abilities);
  storeContract(
    "the file store, with what was used last in memory",
    () => subject(LAYOUT, large, 16 * 1024 * 1024),
    abilities,
  );
  storeContract("the file store, with a new journal file every few commits", () => subject(LAYOUT, 2000), abilities);
}
