/** The memory store follows the contract of all stores. */
import { memoryStore } from "../../../lib/store/memory.ts";
import { storeContract } from "../../contract/store_contract.ts";

storeContract("the memory store", async () => ({ store: memoryStore() }));
