/** What becomes of the entries of a plan: set or taken back as a whole, and what is left where a system fails. */
const OPERATIONS = ["test/lib/changes/plans/operations.test.ts"];
const run = { file: "lib/changes/operations/run_adapter.ts", tests: OPERATIONS };
const resolve = { file: "lib/changes/operations/resolve_operation.ts", tests: OPERATIONS };

export const plans = [
  {
    ...run,
    name: "a plan that fails half-way leaves what it set",
    find: "for (const group of groups.reverse()) await takeBack(adapter, group, inTime);",
    replace: "void [takeBack, inTime];",
    grave: true,
  },
  {
    ...run,
    name: "a failed plan is taken back in the order in which it was set",
    find: "for (const group of groups.reverse()) await takeBack(",
    replace: "for (const group of groups) await takeBack(",
  },
  {
    ...run,
    name: "a plan is rolled back in the order in which it was set",
    find: "groupOperands(adapter, ends).reverse()",
    replace: "groupOperands(adapter, ends)",
  },
  {
    ...run,
    name: "an edited entry of a plan is found after others were rolled back",
    find: "if (ends.length === 1 || overDrift) return undefined;",
    replace: "if (ends.length > 0 || overDrift) return undefined;",
  },
  {
    file: "lib/changes/commands/run_operation.ts",
    tests: OPERATIONS,
    name: "the lease on an unknown entry of a plan is dropped",
    find: "if (!isTouched || !isOpen || failure?.drifted) return undefined;",
    replace: "if (isTouched || !isOpen || failure?.drifted) return undefined;",
    grave: true,
  },
  {
    ...resolve,
    name: "a plan that failed goes on when a system answers late",
    find: "asked.every(isDoneAt) && (!isPlan(change) || isAllRunning(adapter, change, leases))",
    replace: "asked.every(isDoneAt) && (isPlan(change) || isAllRunning(adapter, change, leases))",
  },
  {
    file: "lib/changes/rules/evolve.ts",
    tests: OPERATIONS,
    name: "a plan owns what a rollback that failed elsewhere took back",
    find: "if (!applied?.sets || !back?.length) return applied;",
    replace: "if (applied?.sets || !back?.length) return applied;",
  },
];
