/** Who may decide what: proposals, consent, and the table of states. */

const HTTP = ["test/contract/http.test.ts"];
const decision = { file: "lib/governance/rules/consent.ts", tests: HTTP, only: "bare handlers consent" };
const table = { file: "lib/governance/rules/transitions.ts", tests: ["test/lib/governance/transitions.test.ts"] };
const content = { file: "lib/governance/rules/change.ts", tests: ["test/lib/governance/change.test.ts"] };

export const consent = [
  {
    ...decision,
    name: "one person's consent counts twice",
    find: "if (change.approvals.some(({ approver }) => sameName(approver) === sameName(name)))",
    replace: "if (false)",
  },
  {
    ...decision,
    name: "one person's consent counts twice in other letters",
    find: "if (change.approvals.some(({ approver }) => sameName(approver) === sameName(name)))",
    replace: "if (change.approvals.some(({ approver }) => approver === name))",
  },
  {
    ...decision,
    name: "one consent is enough, however many are required",
    find: "const enough = approvals.length >= change.required_approvers;",
    replace: "const enough = true;",
    grave: true,
  },
  {
    ...decision,
    name: "anybody may approve, whoever the intent names",
    find: "  requireApprover(change, name, policy);\n",
    replace: "",
    grave: true,
  },
  {
    ...decision,
    name: "anybody may deny, whoever the intent names",
    find: "if (!mayDecide(deciding.name, policy))",
    replace: "if (false)",
  },
  {
    ...decision,
    name: "anybody may withdraw another's proposal",
    find: "if (change.proposer !== null && sameName(change.proposer) !== sameName(deciding.name))",
    replace: "if (false)",
  },
  {
    ...decision,
    name: "a denial is recorded as a withdrawal",
    find: 'return close(change, deciding, "denied");',
    replace: 'return close(change, deciding, "withdrawn");',
  },
  {
    ...table,
    name: "a change may be applied before it is approved",
    find: 'apply: { from: ["approved"],',
    replace: 'apply: { from: ["approved", "pending_consent"],',
    grave: true,
  },
  {
    ...table,
    name: "a denied change may be approved",
    find: 'approve: { from: ["proposed", "pending_consent"],',
    replace: 'approve: { from: ["proposed", "pending_consent", "denied"],',
  },
  {
    ...table,
    name: "what was not applied may be rolled back",
    find: 'rollback: { from: ["applied"],',
    replace: 'rollback: { from: ["applied", "approved"],',
  },
  {
    ...table,
    name: "what is approved may be withdrawn",
    find: 'withdraw: { from: ["pending_consent"],',
    replace: 'withdraw: { from: ["pending_consent", "approved"],',
  },
  { ...content, name: "consent does not cover the value that is set", find: '  "value",\n', replace: "" },
  {
    ...content,
    name: "consent does not cover the tenant",
    find: 'DIGESTED = [\n  "tenant_id",\n',
    replace: "DIGESTED = [\n",
  },
  {
    name: "with a trusted proxy anybody may decide under any name",
    file: "lib/governance/record_decision.ts",
    find: "    requirePerson(call, person.field, person.name);\n",
    replace: "",
    tests: HTTP,
    only: "bare handlers (access|consent)",
  },
  {
    name: "with a trusted proxy a proposal may name somebody else",
    file: "lib/governance/submit_proposal.ts",
    find: 'if (input.proposer !== undefined) requirePerson(call, "proposer", input.proposer);\n  else if',
    replace: "if",
    tests: HTTP,
    only: "bare handlers (access|consent)",
  },
  {
    name: "a decision is taken on a revision that nobody saw",
    file: "lib/governance/record_decision.ts",
    find: "    requireMatch(call.request, record.change.revision);\n",
    replace: "",
    tests: HTTP,
    only: "bare handlers preconditions",
  },
  {
    name: "consent is recorded without what it was given to",
    file: "lib/governance/record_decision.ts",
    find: "      digest: change.digest,\n",
    replace: "",
    tests: HTTP,
    only: "bare handlers (consent|audit)",
  },
  {
    name: "due changes are not denied by themselves",
    file: "lib/governance/expire_due.ts",
    find: "if (due.length > 0) await expireAll(deps, due);",
    replace: "",
    tests: HTTP,
    only: "bare handlers (consent|views)",
  },
  {
    name: "a gate shows a pass where the apply will be refused",
    file: "lib/governance/rules/gates.ts",
    find: 'state: standing >= needed ? "pass" : "block",',
    replace: 'state: "pass",',
    tests: ["test/lib/governance/today.test.ts"],
  },
  {
    name: "a forbidden target is no gate",
    file: "lib/governance/rules/gates.ts",
    find: 'state: forbidden ? "block" : "pass",',
    replace: 'state: "pass",',
    tests: ["test/lib/governance/today.test.ts"],
  },
];
