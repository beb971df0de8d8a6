/** What goes on after an apply: drift of the host, and guardrails on KPIs. */

const drift = { file: "lib/changes/verify_place.ts", tests: ["test/lib/changes/drift.test.ts"] };
const tripped = { file: "lib/changes/rules/guardrail.ts", tests: ["test/lib/changes/guardrail.test.ts"] };
const guardrail = { file: "lib/changes/guardrail.ts", tests: ["test/lib/changes/guardrail.test.ts"] };

export const watching = [
  {
    ...drift,
    name: "a host that cannot be asked counts as drifted",
    find: '    return "unreadable";\n  }\n  if (host === "applied") return { host };',
    replace: '    return { state: "drifted", host: "unknown" };\n  }\n  if (host === "applied") return { host };',
  },
  {
    file: "lib/changes/operations/ask_host.ts",
    tests: ["test/lib/changes/drift.test.ts"],
    name: "a host that holds another value than the log has in force is in sync",
    find: "held === undefined || isValue(held, change) ? host",
    replace: "held === undefined || isValue(held, change) || true ? host",
  },
  {
    ...drift,
    name: "one episode of drift is audited again and again",
    find: "if (!known) transaction.enact(",
    replace: "transaction.enact(",
  },
  {
    ...drift,
    name: "what the host showed before an operation counts after it",
    find: "if (current.change.revision !== change.revision || (await readLease(tx, change))) return;",
    replace: "void [revision, readLease];",
  },
  {
    ...drift,
    name: "drift that is over is still shown",
    find: 'if (state === undefined) return tx.delete("drift", id);',
    replace: "if (state === undefined) return;",
  },
  {
    ...guardrail,
    name: "a guardrail blames the oldest apply",
    find: "limit: PAGE_SIZE, reverse: true",
    replace: "limit: PAGE,",
  },
  {
    ...tripped,
    name: "a guardrail takes a gain for a loss",
    find: "kpiDirection(kpi, intent) * (baseline - value)",
    replace: "kpiDirection(kpi, intent) * (value - baseline)",
  },
  {
    ...tripped,
    name: "a guardrail trips at the very regression that is allowed",
    find: "return regression > max_regression ?",
    replace: "return regression >= max_regression ?",
  },
  {
    ...guardrail,
    name: "a guardrail blames an apply of long ago",
    find: "if (now - value.at > hours * HOUR_MS) return undefined;",
    replace: "void [now, hours, HOUR_MS];",
  },
  {
    ...guardrail,
    name: "a guardrail by target blames a change of another target",
    find: "if (targets && ![value.target, ...(value.sets ?? [])].some((target) => matchesAny(target, targets))) continue;",
    replace: "void matchesAny;",
  },
  {
    ...guardrail,
    name: "a guardrail by target overlooks changes that name no KPI",
    find: "kpi === null ? [EVERY_KPI] : [kpi, EVERY_KPI]",
    replace: "kpi === null ? [] : [kpi, EVERY_KPI]",
  },
  {
    ...guardrail,
    name: "a guardrail blames what was rolled back",
    find: 'if (record?.change.status === "applied") return record;',
    replace: "if (record) return record;",
  },
  {
    ...guardrail,
    name: "a guardrail rolls back what cannot be undone",
    find: "if (!reversible) return;",
    replace: "void reversible;",
  },
  {
    ...guardrail,
    name: "an alert rolls back",
    find: 'if (evidence.action === "rollback") tx.put("guardrail_due"',
    replace: 'tx.put("guardrail_due"',
  },
  {
    name: "a guardrail's rollback that fails is tried for ever",
    file: "lib/changes/guardrail_rollback.ts",
    find: "!isFinal && tries < TRIES",
    replace: "!isFinal",
    tests: ["test/lib/changes/guardrail.test.ts"],
  },
];
