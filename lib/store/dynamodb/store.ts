/** A store in a DynamoDB table, which many processes and functions may use at once. */
import { checkList } from "../engine/write_set.ts";
import { beginBatch, listRecords, readWhole } from "./batch.ts";
import { type DynamoDbAccess, dynamoDbClient, DynamoDbError, type DynamoDbLimits, NoAnswer } from "./client.ts";
import { checkSize, keysOf, nameOf, storedOf } from "./items.ts";
import { getItem, getItems } from "./requests.ts";
import { type Attempt, type Chance, groupCommit, realChance, tried } from "../engine/group_commit.ts";
import { type ListOptions, type Store, StoreBusy, type Stored, StoreUnavailable } from "../store.ts";

const LIMITS: DynamoDbLimits = { answer: 5000, patience: 5000, findOut: 30_000 };

/** With what a decision writes at most, and the head, one request is enough. */
const ROOMY = 50;

/** Where the table is, and what the store is told beside it. */
export interface DynamoDbOptions extends DynamoDbAccess {
  limits?: Partial<DynamoDbLimits>;
  chance?: Chance;
}

/** The store in a table that is there already: see `createTable`. */
export function dynamoDbStore(options: DynamoDbOptions): Store {
  const { chance = realChance } = options;
  const limits = { ...LIMITS, ...options.limits };
  const client = dynamoDbClient(options, limits, chance);

  const mapped = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw storeError(error, client.place);
    });
  const read = <T>(work: () => Promise<T>): Promise<T> => mapped(tried(() => readWhole(client, work), chance));

  const begin = async (): Promise<Attempt> => {
    const { versions, list, commit, abandon } = await mapped(beginBatch(client, chance, limits.findOut));
    return {
      versions: (keys) => mapped(versions(keys)),
      list: (collection, range) => mapped(list(collection, range)),
      commit: (writes) => mapped(commit(writes)),
      abandon,
    };
  };
  return {
    async get<T>(collection: string, id: string) {
      const item = await read(() => getItem(client, keysOf({ collection, id })[0]));
      return item && (storedOf(item) as Stored<T>);
    },
    async getMany<T>(collection: string, ids: readonly string[]) {
      const keys = ids.map((id) => keysOf({ collection, id })[0]);
      const items = await read(() => getItems(client, keys));
      return keys.map((key) => {
        const item = items.get(nameOf(key));
        return item && (storedOf(item) as Stored<T>);
      });
    },
    async list<T>(collection: string, page: ListOptions<boolean>) {
      checkList(page);
      return (await read(() => listRecords(client, collection, page))) as Stored<T>[];
    },
    ...groupCommit({ begin, roomy: ROOMY, check: checkSize }, chance),
  };
}

/** The error as the port has it. */
function storeError(error: unknown, place: string): unknown {
  if (!(error instanceof DynamoDbError) && !(error instanceof NoAnswer)) return error;
  if (error instanceof NoAnswer && !error.lost) return new StoreBusy(`${place}: ${error.message}`, { cause: error });
  const missing = error instanceof DynamoDbError && error.code === "ResourceNotFoundException";
  const hint = missing ? "; make the table first" : "";
  return new StoreUnavailable(`${place}: ${error.message}${hint}`, { cause: error });
}
