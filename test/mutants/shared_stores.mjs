/** Stores that several processes share: group commit, Postgres, DynamoDB. */

const FAULTS = ["test/lib/store/dynamodb_faults.test.ts"];
const POSTGRES = ["test/lib/store/postgres_faults.test.ts"];
const DYNAMODB = ["test/lib/store/dynamodb/store.test.ts"];
const group = { file: "lib/store/engine/group_commit.ts" };
const batch = { file: "lib/store/dynamodb/batch.ts", tests: FAULTS };
const client = { file: "lib/store/dynamodb/client.ts", tests: FAULTS };
const requests = { file: "lib/store/dynamodb/requests.ts", tests: FAULTS };
const postgres = { file: "lib/store/postgres/batch.ts", tests: POSTGRES };

export const sharedStores = [
  {
    ...batch,
    name: "two processes may move the head of a DynamoDB table from one place",
    find: ': "commits = :commits",',
    replace: ': ":commits = :commits",',
    tests: [...DYNAMODB, ...FAULTS],
  },
  {
    ...batch,
    name: "two processes may both begin an empty table",
    find: '"attribute_not_exists(commits)"',
    replace: '"attribute_not_exists(pending)"',
    tests: [...DYNAMODB, ...FAULTS],
  },
  {
    ...batch,
    name: "a decision that wrote nothing may rest on what has moved",
    find: "if ((await readHead(client)).commits !== head.commits) throw moved();",
    replace: "void moved;",
    tests: DYNAMODB,
    only: "sees one moment|is taken back",
  },
  {
    ...batch,
    name: "a commit that was refused is told as kept",
    find: "if (!kept) throw moved();",
    replace: "void kept;",
  },
  {
    ...batch,
    name: "a commit whose outcome nobody knows is told as refused",
    find: "throw new OutcomeUnknown(",
    replace: "throw new Contended(",
  },
  {
    ...client,
    name: "a refusal after a lost answer counts for what was lost",
    find: "if (refused && (!lost || error.code === CANCELLED)) throw error;",
    replace: "if (refused) throw error;",
  },
  {
    ...client,
    name: "a process that was halted commits after its token is forgotten",
    find: "if (!again || clock.now() >= end)",
    replace: "if (!again)",
  },
  {
    ...client,
    name: "a throttled request is not made again",
    find: "if (code !== CANCELLED) return THROTTLED.test(code) || UNSURE.test(code);",
    replace: "if (code !== CANCELLED) return UNSURE.test(code);",
  },
  {
    ...requests,
    name: "what did not fit in one answer is taken for absent",
    find: "left = [...(UnprocessedKeys?.[table]?.Keys ?? []), ...left.slice(MOST_KEYS)];",
    replace: "left = UnprocessedKeys === undefined ? [] : [];",
  },
  {
    ...requests,
    name: "a page ends where an answer did",
    find: "} while (start && items.length < limit);",
    replace: "} while (false);",
    tests: DYNAMODB,
    only: "megabyte",
  },
  {
    name: "a deleted record of a DynamoDB table begins at revision 1 again",
    file: "lib/store/dynamodb/batch.ts",
    find: "deleted.set(collection, Math.max(deleted.get(collection) ?? 0, revision));",
    replace: "void revision;",
    tests: DYNAMODB,
  },
  {
    ...group,
    name: "what a decision could not read is hidden when the decision catches it",
    find: "      if (batch.failure) throw batch.failure.error;\n",
    replace: "",
    tests: POSTGRES,
    only: "breaks within a decision",
  },
  {
    ...group,
    name: "a decision does not see what those before it in the batch wrote",
    find: "written.get(key.collection)?.get(key.id) ?? read.get(nameOf(key))",
    replace: "read.get(nameOf(key))",
    tests: DYNAMODB,
    only: "parallel increments",
  },
  {
    ...group,
    name: "a result is told before the batch is committed",
    find: "return batch.accept(versions) ? () => resolve(result) : undefined;",
    replace: "if (!batch.accept(versions)) return undefined;\n    resolve(result);\n    return () => {};",
    tests: [...FAULTS, ...DYNAMODB],
  },
  {
    ...group,
    name: "a contended store keeps its caller waiting twice as long",
    find: "if (tries === TRIES) throw new StoreBusy(",
    replace: "if (tries === 2 * TRIES) throw new StoreBusy(",
    tests: FAULTS,
    only: "always faster",
  },
  {
    ...group,
    name: "contention is not tried again",
    find: "if (!(error instanceof Contended)) throw error;",
    replace: "throw error;",
    tests: FAULTS,
  },
  {
    ...postgres,
    name: "two processes write to one Postgres store at once",
    find: "await client.query(\"select pg_advisory_xact_lock(hashtextextended('countersign/' || $1, 0))\", [store]);",
    replace: 'await client.query("select $1::text", [store]);',
    tests: ["test/lib/store/postgres/store.test.ts"],
    only: "several writers",
  },
  {
    ...postgres,
    name: "a commit that the server answered with a rollback counts",
    find: 'if (command !== "COMMIT") throw',
    replace: "if (false) throw",
  },
  {
    ...postgres,
    name: "a commit that was kept, its answer lost, is done again",
    find: "if (await wasKept(writer, number)) return;",
    replace: "",
  },
  {
    ...postgres,
    name: "a commit that never arrived is told as kept",
    find: "return last?.revision === number;",
    replace: "return true;",
  },
  {
    ...postgres,
    name: "a process that is halted blocks the others for ever",
    find: "     set local idle_in_transaction_session_timeout = ${limits.idle};\n",
    replace: "",
    only: "halted",
  },
  {
    name: "a Postgres store shows deleted records",
    file: "lib/store/postgres/rows.ts",
    find: "and id between $3 and $4 and not deleted",
    replace: "and id between $3 and $4",
    tests: ["test/lib/store/postgres/store.test.ts"],
  },
  {
    name: "ids beyond the basic plane come in another order than elsewhere",
    file: "lib/store/engine/record_key.ts",
    find: "if (byte >= 0xee) bytes[index] = byte >= 0xf0 ? byte - 2 : byte + 5;",
    replace: "void byte;",
    tests: ["test/lib/store/engine/record_key.test.ts"],
  },
];
