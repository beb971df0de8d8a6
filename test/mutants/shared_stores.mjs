/** Stores that several processes share: group commit, Postgres, DynamoDB. */

const FAULTS = ["test/lib/store/dynamodb_faults.test.ts"];
const POSTGRES = ["test/lib/store/postgres_faults.test.ts"];
const DYNAMODB = ["test/lib/store/dynamodb/store.test.ts"];
const GROUP = ["test/lib/store/engine/group_commit.test.ts"];
const FENCE = ["test/lib/store/postgres/fence.test.ts"];
const group = { file: "lib/store/engine/group_commit.ts", tests: GROUP };
const run = { file: "lib/store/engine/run.ts", tests: GROUP };
const pacing = { file: "lib/store/engine/pacing.ts", tests: FAULTS };
const batch = { file: "lib/store/dynamodb/batch.ts", tests: FAULTS };
const head = { file: "lib/store/dynamodb/head.ts" };
const client = { file: "lib/store/dynamodb/client.ts", tests: FAULTS };
const requests = { file: "lib/store/dynamodb/requests.ts", tests: FAULTS };
const postgres = { file: "lib/store/postgres/batch.ts", tests: POSTGRES };

export const sharedStores = [
  {
    ...head,
    name: "two processes may move the head of a DynamoDB table from one place",
    find: 'return `commits = :commits and ${name === "" ? "attribute_not_exists(#name)" : "#name = :before"}`;',
    replace: 'return `:commits = :commits${name === "" ? "" : " and :before = :before"}`;',
    tests: [...DYNAMODB, ...FAULTS],
  },
  {
    ...head,
    name: "two processes may both begin an empty table",
    find: '"attribute_not_exists(commits)"',
    replace: '"attribute_not_exists(pending)"',
    tests: [...DYNAMODB, ...FAULTS],
  },
  {
    ...batch,
    name: "a decision that wrote nothing may rest on what has moved",
    find: "if (nameOf(await readHead(client)) !== nameOf(head)) throw moved();",
    replace: "void moved;",
    tests: DYNAMODB,
    only: "what was there together",
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
    find: 'if (refused && (!lost || error.reasons.includes("ConditionalCheckFailed"))) throw error;',
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
    ...head,
    name: "a deleted record of a DynamoDB table begins at revision 1 again",
    find: "deleted.set(collection, Math.max(deleted.get(collection) ?? 0, revision));",
    replace: "void revision;",
    tests: DYNAMODB,
  },
  {
    ...run,
    name: "what a decision could not read is hidden when the decision catches it",
    find: "    if (failure) throw failure.error;\n",
    replace: "",
    only: "even where it hides that",
  },
  {
    ...run,
    name: "a decision does not see what those before it in the batch wrote",
    find: "      if (own) return own;\n",
    replace: "",
    tests: [...DYNAMODB, ...GROUP],
  },
  {
    ...run,
    name: "a decision stands although a record was not as it took it",
    find: "if (!known || !isSame(known.found, found)) return false;",
    replace: "void found;",
    grave: true,
  },
  {
    ...run,
    name: "a decision stands although a page was not as it took it",
    find: "if (!known || !isSamePage(known, rows)) return false;",
    replace: "void rows;",
    tests: [...GROUP, ...DYNAMODB],
    grave: true,
  },
  {
    name: "what is held of a store outlives the commit of another process",
    file: "lib/store/engine/held.ts",
    find: "      versions.clear();\n",
    replace: "",
    tests: GROUP,
    grave: true,
  },
  {
    ...group,
    name: "a result is told before the batch is committed",
    find: "    const writes = run.writes(held);\n",
    replace: "    for (const end of run.ends) end();\n    const writes = run.writes(held);\n",
    tests: [...FAULTS, ...DYNAMODB],
    grave: true,
  },
  {
    name: "a page that is held misses what came into it behind a deletion",
    file: "lib/store/engine/held.ts",
    find: "if (left.length < rows.length && !version.json && rows.length === limit) return undefined;",
    replace: "void limit;",
    tests: ["test/lib/store/engine/held.test.ts"],
  },
  {
    ...pacing,
    name: "a contended store keeps its caller waiting twice as long",
    find: "if (tries === most) throw new StoreBusy(",
    replace: "if (tries === 2 * most) throw new StoreBusy(",
    only: "always faster",
  },
  {
    ...pacing,
    name: "contention is not tried again",
    find: "if (!(error instanceof Contended)) throw error;",
    replace: "throw error;",
  },
  {
    name: "where an engine's locks hold nothing, two processes move the head of a Postgres store from one place",
    file: "lib/store/postgres/rows.ts",
    find: "where store = $1 and name = $2 returning 1",
    replace: "where store = $1 and $2::text is not null returning 1",
    tests: FENCE,
    grave: true,
  },
  {
    name: "a database on which two writers move one row is opened",
    file: "lib/store/postgres/probe.ts",
    find: "if (moved !== 1 || commits !== 1)",
    replace: "if (false)",
    tests: FENCE,
    grave: true,
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
    find: "if (await wasKept(writer, number)) return to;",
    replace: "",
  },
  {
    ...postgres,
    name: "a commit that never arrived is told as kept",
    find: "return (await lastCommitOf(client, store, id)) === number;",
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
  {
    name: "a table counts its own commits as another's",
    file: "lib/store/dynamodb/batch.ts",
    find: "          own++;\n",
    replace: "          void own;\n",
    tests: ["test/lib/store/shared_service.test.ts"],
    only: "on a table too",
  },
  {
    ...client,
    name: "what is cancelled for another's sake after a lost answer is decided again",
    find: 'if (refused && (!lost || error.reasons.includes("ConditionalCheckFailed"))) throw error;',
    replace: "if (refused && (!lost || error.code === CANCELLED)) throw error;",
  },
  {
    name: "an item is written over whichever it is by now",
    file: "lib/store/dynamodb/items.ts",
    find: '"revision = :before",',
    replace: '":before = :before",',
    tests: FAULTS,
    only: "seen as it was",
  },
  {
    ...head,
    name: "a head is its count, whatever its last commit was",
    find: "=> `${commits} ${name}`;",
    replace: "=> (void name, String(commits));",
    tests: FAULTS,
    only: "another copy",
  },
  {
    name: "the same revision is the same record, whatever it says",
    file: "lib/store/engine/held.ts",
    find: "textOf(one) === textOf(other));",
    replace: "(textOf(one) === undefined) === (textOf(other) === undefined));",
    tests: FAULTS,
    only: "another copy",
  },
  {
    name: "what is held of a write has all versions before it",
    file: "lib/store/engine/held.ts",
    find: "        const version = { collection, id, revision, json };\n        hold(version, version);",
    replace:
      "        const version = { collection, id, revision, json };\n        hold(version, writes.find((write) => write.id === id));",
    tests: ["test/lib/store/engine/held.test.ts"],
  },
  {
    name: "what a refused try held is taken for true by the next",
    file: "lib/store/engine/group_commit.ts",
    find: "    sharing.held = held.doubted();\n",
    replace: "",
    tests: ["test/lib/store/engine/group_commit.test.ts"],
  },
  {
    name: "who comes late is refused for the tries of others",
    file: "lib/store/engine/group_commit.ts",
    find: "      if (error instanceof StoreBusy) queue.unshift(...jobs.splice(first));\n",
    replace: "      void [StoreBusy, first];\n",
    tests: ["test/lib/store/engine/group_commit.test.ts"],
  },
  {
    name: "what a decision did not wait for is learnt later",
    file: "lib/store/engine/run.ts",
    find: "    await Promise.allSettled(reading.splice(0));\n",
    replace: "    reading.splice(0);\n",
    tests: ["test/lib/store/engine/group_commit.test.ts"],
  },
  {
    name: "a database without a second connection hangs the start",
    file: "lib/store/postgres/probe.ts",
    find: "    await one.giveUp();\n    throw error;\n",
    replace: "    throw error;\n",
    tests: FENCE,
    only: "one connection and no other",
  },
];
