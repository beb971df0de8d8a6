/** What consent is given to, by whom, and until when. */

const HTTP = ["test/contract/http.test.ts"];
const content = { file: "lib/governance/rules/content.ts", tests: ["test/lib/governance/rules/content.test.ts"] };

export const consent = [
  { ...content, name: "consent does not cover the value that is set", find: '  "value",\n', replace: "" },
  {
    ...content,
    name: "consent does not cover the tenant",
    find: 'CONTENT_FIELDS = [\n  "tenant_id",\n',
    replace: "CONTENT_FIELDS = [\n",
  },
  {
    name: "with a trusted proxy anybody may decide under any name",
    file: "lib/governance/record_decision.ts",
    find: '    requirePerson(call, type === "withdraw" ? "proposer" : "approver", name);\n',
    replace: "",
    tests: HTTP,
    only: "bare handlers (access|consent)",
  },
  {
    name: "with a trusted proxy a proposal may name somebody else",
    file: "lib/governance/submit_proposal.ts",
    find: '    requirePerson(call, "proposer", stated.proposer);\n',
    replace: "",
    tests: HTTP,
    only: "bare handlers (access|consent)",
  },
  {
    name: "a decision is taken on a revision that nobody saw",
    file: "lib/governance/record_decision.ts",
    find: "    requireMatch(call.request, before.change.revision);\n",
    replace: "",
    tests: HTTP,
    only: "bare handlers preconditions",
  },
  {
    name: "due changes are not denied by themselves",
    file: "lib/governance/record_decision.ts",
    find: "if (due.length > 0) expired += await expireAll(deps, due);",
    replace: "",
    tests: ["test/lib/governance/expire_due.test.ts"],
  },
  {
    name: "a change whose time is over is still shown as waiting",
    file: "lib/governance/views.ts",
    find: "await quietly(deps, expireDue(deps, [changeId]));",
    replace: "void expireDue;",
    tests: HTTP,
    only: "bare handlers consent",
  },
  {
    name: "a gate shows a pass where the apply will be refused",
    file: "lib/governance/rules/gates.ts",
    find: 'standing >= needed ? "pass" : "block",',
    replace: '"pass",',
    tests: ["test/lib/governance/today.test.ts"],
  },
  {
    name: "a forbidden target is no gate",
    file: "lib/governance/rules/gates.ts",
    find: 'add("forbidden_target", "block",',
    replace: 'add("forbidden_target", "pass",',
    tests: ["test/lib/governance/today.test.ts"],
  },
];
