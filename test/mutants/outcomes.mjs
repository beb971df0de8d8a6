/** KPIs, and what became of applied changes. */

const HTTP = ["test/contract/http.test.ts"];
const outcome = { file: "lib/governance/rules/outcome.ts", tests: HTTP, only: "bare handlers outcomes" };
const kpi = { file: "lib/governance/rules/kpi.ts", tests: HTTP, only: "bare handlers (kpi|outcomes)" };

export const outcomes = [
  {
    ...outcome,
    name: "what was fed before an apply counts as its outcome",
    find: "const fed = latest && latest.entry > applied_entry ? latest.value : null;",
    replace: "const fed = latest?.value ?? null;",
  },
  {
    ...outcome,
    name: "a loss of a KPI that should fall is a gain",
    find: "roundDelta(directionOf(kpi, intent) * (fed - baseline))",
    replace: "roundDelta(fed - baseline)",
  },
  {
    ...outcome,
    name: "a gain that was expected exactly is missed",
    find: 'realised >= expected - 1e-9 * Math.abs(expected)) return "met";',
    replace: 'realised > expected) return "met";',
  },
  {
    ...outcome,
    name: "a regression is only missed",
    find: 'if (realised < 0) return "regressed";',
    replace: "",
  },
  {
    ...outcome,
    name: "an outcome that was final moves on",
    find: "if (record.final) return record.final;",
    replace: "",
  },
  {
    ...outcome,
    name: "an outcome stays open beyond its 30 days",
    find: "const OPEN_MS = 30 *",
    replace: "const OPEN_MS = 60 *",
    tests: ["test/lib/governance/closing.test.ts"],
    only: undefined,
  },
  {
    ...kpi,
    name: "the baseline moves with every feed",
    find: "first: values[kpi]?.first ?? value",
    replace: "first: value",
    tests: ["test/lib/pulse/week_of_life.test.ts", ...HTTP],
    only: "kpi|E |week",
  },
  {
    ...kpi,
    name: "a KPI is good when it rises, whatever its target says",
    find: "if (stated) return stated.target >= stated.baseline ? 1 : -1;",
    replace: "",
  },
  {
    name: "a feed of which one field is unknown is taken in part",
    file: "handlers/product/kpi.ts",
    find: ".strictObject(",
    replace: ".object(",
    tests: HTTP,
    only: "bare handlers (kpi|fields)",
  },
  {
    name: "E leaves out the weights",
    file: "lib/governance/rules/effect.ts",
    find: "sum += attainment * weight;\n      weights += weight;",
    replace: "sum += attainment;\n      weights += 1;",
    tests: HTTP,
    only: "bare handlers kpi",
  },
];
