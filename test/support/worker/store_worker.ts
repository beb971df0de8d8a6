/** Runs cases of the store contract in a Durable Object, on its real storage, by requests that name the case. */
import { DurableObject } from "cloudflare:workers";
import { durableObjectStore, type ObjectStorage } from "../../../lib/store/durable_object.ts";
import { RevisionConflict } from "../../../lib/store/store.ts";
import { brokenRecords } from "../../contract/broken_records.ts";
import { brokenTransactions } from "../../contract/broken_transactions.ts";
import type { AnyStore } from "../../contract/any_store.ts";
import { runCase, storeCases, type StoreCase, type Subject } from "../../contract/store_cases.ts";
import { brokenStorages } from "./broken_storages.ts";
import { objectCases } from "./object_cases.ts";

const broken: Record<string, () => Subject> = { ...brokenRecords, ...brokenTransactions };

/** A write of a transaction that reads nothing. */
export interface Write {
  collection: string;
  id: string;
  /** Absent for a delete. */
  value?: unknown;
  expected?: number;
}

/** The request to the object: `failures` runs all cases on a broken store, `own` runs one of `objectCases`. */
export type StoreRequest =
  | { ask: "run"; name: string; storage?: string }
  | { ask: "failures"; store: string }
  | { ask: "own"; name: string }
  | { ask: "get"; collection: string; id: string }
  | { ask: "list"; collection: string; limit: number }
  | { ask: "write"; writes: Write[] }
  | { ask: "instance" };

/** Returns the subject of a case: the store on this object's storage, whose syncs are counted. */
function makeSubject(storage: ObjectStorage): Subject {
  let syncs = 0;
  const counting: ObjectStorage = {
    sql: storage.sql,
    transactionSync: (run) => storage.transactionSync(run),
    async sync() {
      await storage.sync();
      syncs++;
    },
  };
  const stores = [durableObjectStore(counting)];
  return {
    store: stores[0]!,
    syncs: () => syncs,
    async reopen() {
      await stores.at(-1)!.close();
      stores.push(durableObjectStore(counting));
      return stores.at(-1)!;
    },
    dispose: () => stores.at(-1)!.close(),
  };
}

/** Runs a case and returns its error as text, or null. */
async function runToProblem(storeCase: StoreCase, make: () => Promise<Subject>): Promise<string | null> {
  return runCase(storeCase, make).then(
    () => null,
    (error: unknown) => String(error),
  );
}

const findCase = (name: string): StoreCase => {
  const found = storeCases.find((storeCase) => storeCase.name === name);
  if (!found) throw new Error(`there is no case ${name}`);
  return found;
};

export class StoreObject extends DurableObject {
  readonly #instance = crypto.randomUUID();
  readonly #store: AnyStore = durableObjectStore(this.ctx.storage);

  override async fetch(request: Request): Promise<Response> {
    if (request.method === "DELETE") this.ctx.abort("reset by the test");
    try {
      return Response.json({ answer: (await this.#answer(await request.json())) ?? null });
    } catch (error) {
      if (error instanceof RevisionConflict) return Response.json({ conflict: error.message });
      return new Response(String(error), { status: 500 });
    }
  }

  async #answer(command: StoreRequest): Promise<unknown> {
    switch (command.ask) {
      case "run": {
        const wrap = command.storage === undefined ? undefined : brokenStorages[command.storage];
        const storage = wrap ? wrap(this.ctx.storage) : this.ctx.storage;
        return runToProblem(findCase(command.name), async () => makeSubject(storage));
      }
      case "failures": {
        const make = broken[command.store]!;
        const failed: string[] = [];
        for (const storeCase of storeCases) {
          if (storeCase.needs && !make()[storeCase.needs]) continue;
          if (await runToProblem(storeCase, async () => make())) failed.push(storeCase.name);
        }
        return failed;
      }
      case "own":
        return objectCases[command.name]!(this.ctx.storage);
      case "get":
        return this.#store.get(command.collection, command.id);
      case "list":
        return this.#store.list(command.collection, { limit: command.limit });
      case "write":
        return this.#store.transact((tx) => {
          for (const { collection, id, value, expected } of command.writes)
            if (value === undefined) tx.delete(collection, id, expected);
            else tx.put(collection, id, value, expected);
        });
      case "instance":
        return this.#instance;
    }
  }
}

interface Env {
  OBJECTS: { idFromName(name: string): unknown; get(id: unknown): { fetch(request: Request): Promise<Response> } };
}

export default {
  fetch(request: Request, { OBJECTS }: Env): Promise<Response> {
    return OBJECTS.get(OBJECTS.idFromName(new URL(request.url).pathname)).fetch(request);
  },
};
