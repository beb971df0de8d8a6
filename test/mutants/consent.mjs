/** What consent is given to, by whom, and until when. */

const HTTP = ["test/contract/http.test.ts"];
const content = { file: "lib/governance/rules/change.ts", tests: ["test/lib/governance/rules/change.test.ts"] };

const OWNERS = ["test/lib/governance/owners.test.ts"];
const REVOKE = ["test/lib/governance/revoke.test.ts"];
const MOVED = ["test/lib/governance/target_moved.test.ts"];
const machine = "lib/governance/rules/state_machine.ts";

export const consent = [
  {
    name: "a target's owners are not asked",
    file: "lib/governance/rules/missing.ts",
    find: "return [quorum, ...owned].filter(",
    replace: "return [quorum].filter(",
    tests: OWNERS,
    grave: true,
  },
  {
    name: "an owner counts for the quorum of those whom they are not among",
    file: "lib/governance/rules/missing.ts",
    find: ".filter((name) => mayDecide(name, policy)).length;",
    replace: ".filter((name) => mayDecide(name, policy) || true).length;",
    tests: OWNERS,
  },
  {
    name: "an owner decides on what others own",
    file: "lib/governance/rules/policy.ts",
    find: "approvers.includes(sameName(name)) && matchesAny(target, targets)",
    replace: "approvers.includes(sameName(name)) || matchesAny(target, targets)",
    tests: OWNERS,
  },
  {
    name: "what has owners may be minor",
    file: "lib/governance/rules/policy.ts",
    find: "if (policy.owners.some(({ targets }) => matchesAny(claimed.target, targets))) return false;",
    replace: "",
    tests: OWNERS,
  },
  {
    name: "more owners than there are may be asked for",
    file: "lib/governance/rules/consent_rules.ts",
    find: "return required > named ?",
    replace: "return false ?",
    tests: ["test/lib/governance/rules/intent.test.ts"],
  },
  {
    name: "an approved change that lacks consents takes no more",
    file: machine,
    find: "return missingConsents(change, policy).length > 0;",
    replace: "return false;",
    tests: OWNERS,
  },
  {
    name: "an approved change takes consents for ever",
    file: machine,
    find: "return missingConsents(change, policy).length > 0;",
    replace: "return true;",
    tests: OWNERS,
  },
  {
    name: "anybody takes another's consent back",
    file: machine,
    find: "if (!change.approvals.some(({ approver }) => sameName(approver) === sameName(name)))",
    replace: "if (false)",
    tests: REVOKE,
    grave: true,
  },
  {
    name: "a consent is taken back while the host is at work on it",
    file: "lib/governance/record_decision.ts",
    find: 'if (type === "revoke") await requireIdle(transaction, change_id);',
    replace: "",
    tests: REVOKE,
  },
  {
    name: "an approved change lapses while the host is at work on it",
    file: "lib/governance/record_decision.ts",
    find: '(type === "lapse" && (await readLease(transaction.tx, before.change.change_id)))',
    replace: "false",
    tests: REVOKE,
  },
  {
    name: "an old consent carries for ever",
    file: "lib/governance/rules/policy.ts",
    find: 'isOver(change.decided_at!, approval_ttl_hours)) return "lapse";',
    replace: 'false) return "lapse";',
    tests: REVOKE,
  },
  {
    name: "no cycle looks for what has lapsed",
    file: "lib/pulse/change_views.ts",
    find: "return expireDue(deps, [...expired, ...lapsed]);",
    replace: "return expireDue(deps, lapsed.length < 0 ? lapsed : expired);",
    tests: REVOKE,
  },
  {
    name: "a consent carries over a target that has moved, whatever the intent says",
    file: "lib/governance/operation/begin.ts",
    find: "refuseMovedTarget(owners, product.intent.policy);",
    replace: "void refuseMovedTarget;",
    tests: MOVED,
    grave: true,
  },
  {
    name: "what the target held at the consent is believed of the record",
    file: "lib/governance/operation/begin.ts",
    find: "before: told?.target_owner,",
    replace: "before: record.target_owner,",
    tests: MOVED,
  },
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
    find: 'given >= needed ? "pass" : "block",',
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
