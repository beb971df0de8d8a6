/** Faults of projections: cursors, slices, outcomes that time closes, and reads. */

const TESTS = ["test/lib/projections/project.host.test.ts"];
const HTTP = ["test/contract/http.test.ts"];
const ROUNDS = ["test/lib/projections/projector.test.ts"];
const slice = { file: "lib/projections/project.ts", tests: TESTS };
const reader = { file: "lib/projections/log_reader.ts", tests: TESTS };
const snapshot = { file: "lib/projections/snapshot.ts", tests: TESTS };
const outcomes = { file: "lib/projections/outcomes.ts" };

export const projections = [
  {
    file: "lib/projections/activity_log.ts",
    name: "rows of outcomes are found under any kind",
    find: 'if (source === "outcome_rows" && kind !== undefined && kind !== OUTCOME_KIND) return [];',
    replace: "",
    tests: ["test/lib/projections/activity_log.test.ts"],
  },
  {
    file: "local/start.ts",
    name: "the program projects its log in cycles only",
    find: "    longLived: true,\n",
    replace: "",
    tests: ["test/local/start.long.test.ts"],
    only: "projected",
  },
  {
    ...slice,
    name: "two processes may store one entry",
    find: "json(cursor), stored?.revision ?? 0);",
    replace: "json(cursor), undefined);",
  },
  {
    ...slice,
    name: "a projection goes on beyond the end of a log that was set back",
    find: "const isValid = stored && !isBeyond && ",
    replace: "const isValid = stored && ",
    tests: ROUNDS,
  },
  {
    ...slice,
    name: "a length that was read before the log grew is taken for that of another log",
    find: 'if (isBeyond && stored.value.entry <= (await readLength(deps))) return "done";',
    replace: "",
  },
  {
    ...slice,
    name: "rows are left where a projection is rebuilt",
    find: "for (const { id } of page) rows.delete(collections[place]!, id);",
    replace: "",
    tests: ROUNDS,
  },
  {
    file: "lib/projections/projector.ts",
    name: "a projection that has far to go keeps the others waiting",
    find: 'ours = ours.filter((_, index) => results[index] === "done" || results[index] === "more");',
    replace: 'ours = ours.filter((_, index) => results[index] === "more");',
    tests: ROUNDS,
  },
  {
    file: "lib/projections/projector.ts",
    name: "where another process is faster at one projection, all are left to it",
    find: 'if (results.includes("conflict")) isAlone = false;',
    replace: 'if (results.includes("conflict")) return false;',
    tests: TESTS,
  },
  {
    ...reader,
    name: "changes that could not be read once are not read again",
    find: "      ahead = undefined;\n      throw",
    replace: "      throw",
  },
  {
    ...reader,
    name: "projections that read concurrently each read the changes of a page",
    find: "ahead ??= readChanges(",
    replace: "ahead = readChanges(",
  },
  {
    ...reader,
    name: "each projection reads the entries again",
    find: "let page = pages.get(start);",
    replace: "let page = pages.get(-1 - start);",
  },
  {
    ...reader,
    name: "entries after the end of a cycle count as its own",
    find: "Number(next?.id ?? Infinity)",
    replace: "Number(next ? Infinity : Infinity)",
  },
  {
    ...slice,
    name: "the step at which a projection stopped within an entry is lost",
    find: "cursor: { ...from, entry: done, step, state }",
    replace: 'cursor: { ...from, entry: done, step: "", state }',
  },
  {
    ...slice,
    name: "a slice may write any number of records",
    find: "tx.size + writes <= MAX_WRITES_PER_SLICE;",
    replace: "tx.size + writes <= Infinity;",
  },
  {
    ...slice,
    name: "values that are fed after a horizon count for the outcome",
    find: "((await projection.applyTime?.(context, until)) ?? true);",
    replace: "(void until, true);",
  },
  {
    ...slice,
    name: "a rebuild closes outcomes later than time did",
    find: 'if (tx.size > before) tx.put("sightings", entryKey(done), { at: until });',
    replace: "void [before, entryKey];",
  },
  {
    file: "lib/projections/catch_up.ts",
    name: "a projection that fails stops the others",
    find: "      failing.set(projection.name, String(error));\n",
    replace: "      failing.set(projection.name, String(error));\n      throw error;\n",
    tests: TESTS,
  },
  {
    file: "lib/projections/catch_up.ts",
    name: "a read gives up where another process was faster",
    find: '(result === "more" || result === "conflict")',
    replace: 'result === "more"',
    tests: TESTS,
  },
  {
    ...snapshot,
    name: "a read does not bring its projection up to the head",
    find: "await step((signal)",
    replace: "if (length === -1) await step((signal)",
  },
  {
    ...snapshot,
    name: "a read waits for a store that does not answer",
    find: "() => !signal.aborted), MAX_WAIT_MS)",
    replace: "() => !signal.aborted), 2 ** 31 - 1 - MAX_WAIT_MS)",
  },
  {
    ...snapshot,
    name: "a read projects a log that is not valid",
    find: " && !integrity.breach)",
    replace: " && integrity)",
  },
  {
    name: "a change loses its place among those that wait when it is decided",
    file: "lib/projections/waiting.ts",
    find: "if (isLive(to)) {",
    replace: 'if (to === "pending_consent") {',
    tests: HTTP,
    only: "bare handlers views",
  },
  {
    ...outcomes,
    name: "a rollback leaves the outcome open",
    find: "if (record && !record.final) return closeOutcome(context, record, { at, by });",
    replace: "void [record, by, at];",
    tests: HTTP,
    only: "bare handlers outcomes",
  },
  {
    ...outcomes,
    name: "an outcome goes on after another change took its target",
    find: "if (replaced === undefined) continue;",
    replace: "if (replaced !== null) continue;",
    tests: ["test/lib/projections/outcomes.test.ts"],
  },
  {
    file: "lib/projections/project.ts",
    name: "rows of another version of a projection are continued",
    find: " && stored.value.version === projection.version",
    replace: "",
    tests: TESTS,
  },
  {
    name: "each part of an answer reads the log's end",
    file: "lib/audit/chain.ts",
    find: 'requestCache ? requestCache.once("head", () => readHead(store)) : readHead(store);',
    replace: 'requestCache && false ? requestCache.once("head", () => readHead(store)) : readHead(store);',
    tests: ["test/handlers/reads.test.ts"],
  },
  {
    name: "of the target that a page ends in no more rows are read",
    file: "lib/changes/by_target.ts",
    find: "last.startsWith(one) ? found.get(one)!.length === most :",
    replace: "last.startsWith(one) ? true :",
    tests: ["test/lib/changes/by_target.test.ts"],
  },
  {
    name: "an idle cycle passes over what another process committed",
    file: "lib/operations/due_cycle.ts",
    find: " && commits!.count === commit;",
    replace: " && commit >= 0;",
    tests: ["test/lib/operations/due_cycle.long.test.ts"],
  },
  {
    name: "an idle cycle uses the rows of another version of a projection",
    file: "lib/projections/projection.ts",
    find: " && cursor.version === version;",
    replace: " && version !== null;",
    tests: ["test/lib/operations/due_cycle.long.test.ts"],
  },
  {
    name: "an idle cycle passes over what time brings",
    file: "lib/operations/next_due.ts",
    find: "Math.min(outcome, limits, drift, apply);",
    replace: "Math.max(outcome, limits, drift, apply);",
    tests: ["test/lib/operations/due_cycle.long.test.ts"],
  },
  {
    name: "a host is not asked for drift while nobody commits",
    file: "lib/operations/next_due.ts",
    find: "nextDriftCheck(deps),",
    replace: "nextDriftCheck === undefined ? 0 : Infinity,",
    tests: ["test/lib/operations/due_cycle.long.test.ts"],
  },
];
