/** The weekly report and retrospectives. */

const REPORT = ["test/lib/operations/weekly_report.test.ts"];

export const reports = [
  {
    name: "a report repeats what waited before the week",
    file: "lib/operations/weekly_report.ts",
    find: "waits.filter(({ isNew }) => isNew);",
    replace: "waits.filter(() => true);",
    tests: REPORT,
  },
  {
    name: "a report lists a change in the week of an approval that ended in another",
    file: "lib/operations/weekly_report.ts",
    find: "denied.filter(({ decided_at }) => isWithin(week, decided_at))",
    replace: "denied",
    tests: REPORT,
  },
  {
    name: "a report names a change before which a KPI moved",
    file: "lib/operations/kpi_moves.ts",
    find: "if (!final) return move.to - from;",
    replace: "if (from !== null) return move.to - move.from;",
    tests: REPORT,
  },
  {
    name: "a report takes worse for better",
    file: "lib/operations/kpi_moves.ts",
    find: "moves.filter((move) => move.effect === effect)",
    replace: "moves.filter((move) => move.effect !== effect)",
    tests: REPORT,
  },
  {
    name: "a retrospective leaves out why a change was rolled back",
    file: "lib/operations/retrospective.ts",
    find: 'reason === undefined ? what : [...what, ": ", reason]',
    replace: "reason === undefined ? what : what",
    tests: ["test/lib/operations/evolved_files.test.ts"],
  },
];
