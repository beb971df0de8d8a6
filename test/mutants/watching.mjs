/** What goes on after an apply: drift of the host, and guardrails on KPIs. */

const drift = { file: "lib/governance/drift.ts", tests: ["test/lib/governance/drift.test.ts"] };
const guardrail = { file: "lib/governance/guardrail.ts", tests: ["test/lib/governance/guardrail.test.ts"] };

export const watching = [
  {
    ...drift,
    name: "a host that cannot be asked counts as drifted",
    find: "    return undefined;\n  }\n}\n\n/** The episodes",
    replace: '    return "unknown";\n  }\n}\n\n/** The episodes',
  },
  {
    ...drift,
    name: "one episode of drift is audited again and again",
    find: "    if (known) return;\n",
    replace: "",
  },
  {
    ...drift,
    name: "what the host showed before an operation counts after it",
    find: "if (operations !== record.operations || change.revision !== record.change.revision) return;",
    replace: "",
  },
  {
    ...drift,
    name: "drift that is over is still shown",
    find: 'if (state === undefined) return unit.tx.delete("drift", changeId);',
    replace: "if (state === undefined) return;",
  },
  {
    ...guardrail,
    name: "a guardrail blames the oldest apply",
    find: "(await applied(unit.tx, guardrail.kpi)).at(-1)",
    replace: "(await applied(unit.tx, guardrail.kpi))[0]",
  },
  {
    ...guardrail,
    name: "a guardrail takes a gain for a loss",
    find: "directionOf(kpi, intent) * (baseline - value)",
    replace: "directionOf(kpi, intent) * (value - baseline)",
  },
  {
    ...guardrail,
    name: "a guardrail trips at the very regression that is allowed",
    find: "return regression > max_regression ?",
    replace: "return regression >= max_regression ?",
  },
  {
    ...guardrail,
    name: "a guardrail blames an apply of long ago",
    find: "if (!newest || unit.now - newest.at > WATCH_MS) continue;",
    replace: "if (!newest) continue;",
  },
  {
    ...guardrail,
    name: "a guardrail rolls back what cannot be undone",
    find: "if (kpi === null || !reversible) return;",
    replace: "if (kpi === null) return;",
  },
  {
    ...guardrail,
    name: "an alert rolls back",
    find: 'if (evidence.action === "rollback") unit.tx.put("guardrail_due"',
    replace: 'unit.tx.put("guardrail_due"',
  },
  {
    name: "a guardrail's rollback that fails is tried for ever",
    file: "lib/governance/guardrail_rollback.ts",
    find: 'error.code !== "illegal_transition" && tries < TRIES',
    replace: 'error.code !== "illegal_transition"',
    tests: ["test/lib/governance/guardrail.test.ts"],
  },
];
