/** A store in a DynamoDB table, which many processes and functions may use at once. */
import { type Attempt, groupCommit, type Pacing, systemPacing } from "../engine/group_commit.ts";
import { readsOf } from "../engine/view.ts";
import { type Store, StoreBusy, StoreUnavailable } from "../store.ts";
import { beginBatch, MOST, viewOf } from "./batch.ts";
import { type DynamoDbAccess, dynamoDbClient, DynamoDbError, type DynamoDbLimits, NoAnswer } from "./client.ts";
import { checkSize } from "./items.ts";

export { createTable } from "./table.ts";

const LIMITS: DynamoDbLimits = { answer: 5000, patience: 5000, findOut: 30_000 };

/** Where the table is, and what the store is told beside it. */
export interface DynamoDbOptions extends DynamoDbAccess, Partial<Pacing> {
  limits?: Partial<DynamoDbLimits>;
}

/** The store in a table that is there already: see `createTable`. */
export function dynamoDbStore(options: DynamoDbOptions): Store {
  const { clock = systemPacing.clock, random = systemPacing.random } = options;
  const pacing = { clock, random };
  const limits = { ...LIMITS, ...options.limits };
  const client = dynamoDbClient(options, limits, pacing);
  const view = viewOf(client);

  const mapped = async <T>(work: () => T): Promise<Awaited<T>> => {
    try {
      return await work();
    } catch (error) {
      throw storeError(error, client.place);
    }
  };

  const begin = async (): Promise<Attempt> => {
    const { versions, list, commit, abandon } = await mapped(() => beginBatch(client, limits.findOut));
    return {
      versions: (keys) => mapped(() => versions(keys)),
      list: (collection, options) => mapped(() => list(collection, options)),
      commit: (writes) => mapped(() => commit(writes)),
      abandon,
    };
  };
  return {
    ...readsOf({
      versions: (keys) => mapped(() => view.versions(keys)),
      list: (collection, options) => mapped(() => view.list(collection, options)),
    }),
    ...groupCommit({ begin, most: MOST, check: checkSize }, pacing),
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
