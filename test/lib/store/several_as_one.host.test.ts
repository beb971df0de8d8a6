/** Random decisions by several processes on one store have the same results as in one memory store. */
import { afterAll, expect, test } from "vitest";
import { createTable, dynamoDbStore } from "../../../lib/store/dynamodb/store.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { postgresStore } from "../../../lib/store/postgres/store.ts";
import { type ListOptions, RevisionConflict } from "../../../lib/store/store.ts";
import type { AnyStore, AnyTx } from "../../contract/any_store.ts";
import { startDynamoDb } from "../../support/dynamodb_server.ts";
import { histories } from "../../support/run_length.ts";
import { seededIntegers } from "../../support/seeded_integers.ts";
import { startPostgres } from "../../support/postgres_server.ts";

const [dynamoDb, postgres] = await Promise.all([startDynamoDb(), startPostgres()]);
afterAll(() => Promise.all([dynamoDb?.stop(), postgres?.stop()]));

const PROCESSES = 3;
const STEPS = 60;
const COLLECTIONS = ["things", "others"];
const IDS = ["a", "b", "c", "d", "e"];

type Action = (tx: AnyTx) => Promise<unknown> | unknown;

/** Creates a random decision of a few actions, which returns their results; a quarter throw them in the error message. */
function randomDecision(random: (bound: number) => number): (tx: AnyTx) => Promise<unknown> {
  const pick = <T>(of: readonly T[]): T => of[random(of.length)]!;
  const randomAction = (): Action => {
    const [collection, id, value, kind] = [pick(COLLECTIONS), pick(IDS), random(1_000_000), random(20)];
    // Revision 0 as the last argument: the action is a conflict if the record exists.
    if (kind < 7) return (tx) => tx.put(collection, id, value, 0);
    if (kind < 9) return (tx) => tx.put(collection, id, value);
    if (kind < 11) return (tx) => tx.delete(collection, id);
    if (kind < 12) return (tx) => tx.delete(collection, id, 0);
    if (kind < 15) return async (tx) => (await tx.get(collection, id))?.value;
    const options: ListOptions<boolean> = {
      limit: 1 + random(4),
      reverse: random(3) === 0,
      keysOnly: random(3) === 0,
      ...(random(3) === 0 && { after: pick(IDS) }),
    };
    return async (tx) =>
      (await tx.list(collection, options)).map((row) => ("value" in row ? [row.id, row.value] : row.id));
  };
  const actions = Array.from({ length: 1 + random(4) }, randomAction);
  const throwsResults = random(4) === 0;
  return async (tx) => {
    const results: unknown[] = [];
    for (const action of actions) results.push(await action(tx));
    if (throwsResults) throw new Error(`refused: ${JSON.stringify(results)}`);
    return results;
  };
}

/** Returns the result of a decision, or its error without revisions, which may differ from those in memory. */
const resultOf = (deciding: Promise<unknown>): Promise<unknown> =>
  deciding.catch((error: Error) => (error instanceof RevisionConflict ? "conflict" : error.message));

/**
 * Sends random decisions to one of several processes at a time. Requires the results of a store in memory, the same records in
 * every process, and a higher revision for each new value.
 */
async function run(seed: number, open: () => Promise<AnyStore>): Promise<void> {
  const random = seededIntegers(seed);
  const stores = await Promise.all(Array.from({ length: PROCESSES }, open));
  const model: AnyStore = memoryStore();
  const lastRead = new Map<string, { revision: number; value: unknown }>();
  let writer = 0;
  let stepsOfWriter = 0;
  for (let step = 0; step < STEPS; step++, stepsOfWriter--) {
    // Several decisions in a row at one process let that process find that it writes alone.
    if (stepsOfWriter <= 0) {
      writer = random(PROCESSES);
      stepsOfWriter = random(9);
    }
    const decisions = Array.from({ length: 1 + random(3) * random(2) }, () => randomDecision(random));
    const expected = await Promise.all(decisions.map((each) => resultOf(model.transact(each))));
    const results = await Promise.all(decisions.map((each) => resultOf(stores[writer]!.transact(each))));
    expect(results, `seed ${seed}, step ${step}`).toEqual(expected);
    for (const collection of COLLECTIONS) {
      const rows = await stores[random(PROCESSES)]!.list(collection, { limit: 9 });
      const reported = (of: typeof rows) => of.map(({ id, value }) => [id, value]);
      expect(reported(rows), `seed ${seed}, step ${step}`).toEqual(
        reported(await model.list(collection, { limit: 9 })),
      );
      for (const { id, revision, value } of rows) {
        const before = lastRead.get(`${collection}/${id}`);
        if (before && before.value !== value) expect(revision, `seed ${seed}`).toBeGreaterThan(before.revision);
        lastRead.set(`${collection}/${id}`, { revision, value });
      }
    }
  }
  await Promise.all(stores.map((store) => store.close()));
}

for (const [first, end] of histories([1, 7], [1, 7], [1, 30], 13))
  for (const [kind, server] of Object.entries({ DynamoDB: dynamoDb, Postgres: postgres }))
    (server ? test : test.skip)(`${kind}, seeds ${first} to ${end}`, async () => {
      for (let seed = first; seed <= end; seed++) {
        const name = `seed-${seed}`;
        const access = kind === "DynamoDB" ? dynamoDb!.access(name) : undefined;
        if (access) await createTable(access);
        // Retries wait for a random time; with 0 they do not wait.
        const pacing = { random: () => 0 };
        await run(seed, async () =>
          access ? dynamoDbStore({ ...access, ...pacing }) : postgresStore({ pool: postgres!.pool, name, ...pacing }),
        );
      }
    });
