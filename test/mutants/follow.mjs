/** What follows the log: cursors, slices, what time closes, and readings of what is not stored yet. */

const FOLLOW = ["test/lib/follow/follow.test.ts"];
const HTTP = ["test/contract/http.test.ts"];
const catchUp = { file: "lib/follow/catch_up.ts", tests: FOLLOW };
const fold = { file: "lib/follow/fold.ts", tests: FOLLOW };
const outcomes = { file: "lib/follow/outcomes.ts" };
const judging = { file: "lib/follow/outcomes/judging.ts" };

export const follow = [
  {
    file: "local/start.ts",
    name: "the program follows its log in cycles only",
    find: "    follow: true,\n",
    replace: "",
    tests: ["test/local/start.test.ts"],
    only: "followed",
  },
  {
    ...catchUp,
    name: "two processes may follow one entry",
    find: 'tx.put("cursors", name, cursor, stored?.revision ?? 0);',
    replace: 'tx.put("cursors", name, cursor);',
    grave: true,
  },
  {
    ...catchUp,
    name: "a follower goes on behind the end of a log that was set back",
    find: "const anew = !stored || stored.value.entry > until.head || ",
    replace: "const anew = !stored || ",
    tests: ["test/lib/follow/retired.test.ts"],
  },
  {
    ...fold,
    name: "where a follower stopped within an entry is forgotten",
    find: "cursor: { entry: done, step, state: on.state }",
    replace: 'cursor: { entry: done, step: "", state: on.state }',
  },
  {
    ...fold,
    name: "a slice may write any number of records",
    find: "tx.size + more <= writes;",
    replace: "tx.size + more <= Infinity || writes > 0;",
  },
  {
    ...fold,
    name: "what is fed after the close counts for an outcome that was due before",
    find: 'if (step === "" && !((await follower.elapse?.(on, until)) ?? true)) return stop(true);',
    replace: "void until;",
  },
  {
    ...fold,
    name: "what time closed at the log's end is closed elsewhere when it is built anew",
    find: 'if (tx.size > size) tx.put("sightings", entryKey(done), { at: until });',
    replace: "void [size, entryKey];",
  },
  {
    name: "each slice of each follower reads its entries again",
    file: "lib/follow/entry_reader.ts",
    find: "known.after <= after && after < known.last);",
    replace: "known.after === after);",
    tests: FOLLOW,
  },
  {
    name: "entries after a cycle's end are told as its own",
    file: "lib/follow/source.ts",
    find: "Number(next?.id ?? Infinity)",
    replace: "Number(next ? Infinity : Infinity)",
    tests: FOLLOW,
  },
  {
    name: "a follower that fails stops the others",
    file: "lib/follow/follow.ts",
    find: "    failing.set(follower.name, String(error));\n",
    replace: "    failing.set(follower.name, String(error));\n    throw error;\n",
    tests: FOLLOW,
  },
  {
    name: "a reading counts twice what another process stored meanwhile",
    file: "lib/follow/reading.ts",
    find: "if (!(await isBelow(cursor.entry))) return undefined;",
    replace: "",
    tests: FOLLOW,
  },
  {
    name: "a reading goes on from what is older than what is stored",
    file: "lib/follow/reading.ts",
    find: "since < earlier.cursor.entry &&",
    replace: "",
    tests: FOLLOW,
  },
  {
    name: "a change loses its place among those that wait when it is decided",
    file: "lib/follow/waiting.ts",
    find: "if (isLive(to)) {",
    replace: 'if (to === "pending_consent") {',
    tests: HTTP,
    only: "bare handlers views",
  },
  {
    ...outcomes,
    name: "a rollback leaves the outcome open",
    find: "if (record && !record.final) return close(on, record, by, timestamp);",
    replace: "void [record, by, timestamp];",
    tests: HTTP,
    only: "bare handlers outcomes",
  },
  {
    ...judging,
    name: "each verdict that a feed changes is a row of its own",
    find: "if (was.realised_delta === null)",
    replace: "if (was)",
    tests: FOLLOW,
  },
  {
    ...judging,
    name: "a first verdict is told before the horizon is over",
    find: "judged_from! < at",
    replace: "judged_from !== at",
    tests: FOLLOW,
  },
  {
    ...judging,
    name: "no verdict is told when a horizon ends without a feed",
    find: "if (isJudged(outcome)) await tellFirst(on, record, outcome, at);",
    replace: "void [isJudged, outcome];",
    tests: FOLLOW,
  },
  {
    file: "lib/follow/catch_up.ts",
    name: "what another version of a follower made is gone on with",
    find: " || stored.value.version !== follower.version",
    replace: "",
    tests: FOLLOW,
  },
  {
    ...judging,
    name: "a verdict is told again with every feed",
    find: 'outcome.verdict !== "inconclusive" && outcome.verdict !== was.verdict',
    replace: 'outcome.verdict !== "inconclusive"',
    tests: FOLLOW,
  },
  {
    name: "each part of an answer reads the log's end",
    file: "lib/audit/chain.ts",
    find: 'glance ? glance.once("head", () => readHead(store)) : readHead(store);',
    replace: 'glance && false ? glance.once("head", () => readHead(store)) : readHead(store);',
    tests: ["test/handlers/reads.test.ts"],
  },
  {
    name: "of the target that a page ends in no more rows are read",
    file: "lib/governance/by_target.ts",
    find: "last.startsWith(one) ? found.get(one)!.length === most :",
    replace: "last.startsWith(one) ? true :",
    tests: ["test/lib/governance/by_target.test.ts"],
  },
  {
    name: "an idle cycle passes over what another process committed",
    file: "lib/pulse/due_cycle.ts",
    find: " || commits!.count !== commit) return false;",
    replace: ") return false;",
    tests: ["test/lib/pulse/due_cycle.test.ts"],
  },
  {
    name: "an idle cycle passes over what time brings",
    file: "lib/pulse/next_due.ts",
    find: "Math.min(followed, limits);",
    replace: "Math.max(followed, limits);",
    tests: ["test/lib/pulse/due_cycle.test.ts"],
  },
  {
    name: "a host is not asked for drift while nobody commits",
    file: "lib/pulse/due_cycle.ts",
    find: "return isAsItWas(deps);",
    replace: "return isAsItWas !== undefined;",
    tests: ["test/lib/pulse/due_cycle.test.ts"],
  },
];
