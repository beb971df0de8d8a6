/** The state machine of a change: what is decided, what follows in the log, and records held against that. */

const MACHINE = ["test/lib/changes/rules/state_machine.test.ts"];
const RECONCILE = ["test/lib/changes/reconcile.test.ts"];
const TAMPERING = ["test/lib/changes/tampering.test.ts"];
const machine = { file: "lib/changes/rules/state_machine.ts", tests: MACHINE };
const told = { file: "lib/changes/rules/evolve.ts", tests: [...MACHINE, ...RECONCILE] };
const decision = { ...machine, tests: ["test/contract/http.test.ts"], only: "bare handlers consent" };
const record = { file: "lib/changes/rules/record.ts", tests: RECONCILE };
const reconcile = { file: "lib/changes/reconcile.ts", tests: RECONCILE };

const follows = "if (!step || !mayFollow(step, change, event)) return undefined;";
const compared = "lifecycle().filter((field) => !same(logged.change[field], change[field]));";

export const stateMachine = [
  {
    ...machine,
    name: "a change may be applied before it is approved",
    file: "lib/changes/rules/transitions.ts",
    find: 'apply: { from: ["approved"],',
    replace: 'apply: { from: ["approved", "pending_consent"],',
  },
  {
    ...machine,
    name: "a denied change may be approved",
    file: "lib/changes/rules/transitions.ts",
    find: 'approve: { from: ["proposed", "pending_consent"],',
    replace: 'approve: { from: ["proposed", "pending_consent", "denied"],',
  },
  {
    ...machine,
    name: "what was not applied may be rolled back",
    file: "lib/changes/rules/transitions.ts",
    find: 'rollback: { from: ["applied"],',
    replace: 'rollback: { from: ["applied", "approved"],',
  },
  {
    ...machine,
    name: "what is approved may be withdrawn",
    file: "lib/changes/rules/transitions.ts",
    find: 'withdraw: { from: ["pending_consent"],',
    replace: 'withdraw: { from: ["pending_consent", "approved"],',
  },
  {
    ...decision,
    name: "one person's consent counts twice",
    find: "if (!lacksOnlyAWord && hasConsented(change, name, intent))",
    replace: "if (false)",
  },
  {
    ...decision,
    name: "one person's consent counts twice in other letters",
    find: "if (!lacksOnlyAWord && hasConsented(change, name, intent))",
    replace: "if (listValidApprovals(change, policy).some(({ approver }) => approver === name))",
  },
  {
    ...decision,
    name: "one consent is enough, however many are required",
    find: "const isApproved = change.status === approved || missing.length === 0;",
    replace: "const isApproved = missing.length >= 0 || change.status === approved;",
    grave: true,
  },
  {
    ...decision,
    name: "anybody may approve, whoever the intent names",
    find: "  requireApprover(change, name, intent);\n",
    replace: "",
  },
  {
    ...decision,
    name: "anybody may deny, whoever the intent names",
    find: "    requireDecider(change, name, intent);\n",
    replace: "",
  },
  {
    ...decision,
    name: "anybody may withdraw another's proposal",
    find: "  if (!own) {",
    replace: "  if (!own && !name) {",
  },
  {
    ...decision,
    name: "a denial is recorded as a withdrawal",
    find: 'return { decision: "denied", status,',
    replace: 'return { decision: "withdrawn", status,',
  },
  {
    ...decision,
    name: "consent is recorded without what it was given to",
    find: "const common = { digest: change.digest, manifest_hash",
    replace: "const common = { manifest_hash",
    only: "bare handlers (consent|audit)",
  },
  {
    ...machine,
    name: "a decision does not name the manifest it was made under",
    find: "manifest_hash: context.manifest_hash, ...context.actor };",
    replace: "...context.actor };",
  },
  {
    ...machine,
    name: "consent is not asked again under today's intent",
    find: '  if (operation === "apply") requireConsented(change, intent);\n',
    replace: "",
    tests: ["test/lib/changes/today.test.ts"],
  },
  {
    ...machine,
    name: "an entry of another change is one of this",
    file: "lib/changes/rules/evolve.ts",
    find: "if (change_id !== change.change_id || ",
    replace: "if (",
    tests: [...MACHINE, ...TAMPERING],
  },
  {
    ...told,
    name: "a decision on other content is one on this",
    find: " || (detail.digest ?? change.digest) !== change.digest) return undefined;",
    replace: ") return undefined;",
  },
  {
    ...told,
    name: "the log may tell of an apply without consent",
    find: follows,
    replace: 'if (!step || (event_type !== "change_applied" && !mayFollow(step, change, event))) return undefined;',
  },
  {
    ...told,
    name: "the log may tell of a decision on what is decided",
    find: follows,
    replace: "if (!step || (!isConsent && !mayFollow(step, change, event))) return undefined;",
  },
  {
    ...told,
    name: "the log may tell of a rollback of what is not applied",
    find: follows,
    replace: 'if (!step || (event_type !== "change_rolled_back" && !mayFollow(step, change, event))) return undefined;',
  },
  {
    ...told,
    name: "the log may tell of a failed apply whatever the status",
    find: follows,
    replace:
      'if (!step || (event_type !== "change_apply_failed" && !mayFollow(step, change, event))) return undefined;',
  },
  {
    ...told,
    name: "the log may tell of drift of what is not applied",
    find: follows,
    replace: 'if (!step || (event_type !== "change_drifted" && !mayFollow(step, change, event))) return undefined;',
  },
  {
    ...told,
    name: "one consent is enough, however many the log asks for",
    find: "if (ordinary < change.required_approvers && !given.review && !detail.mandate) return undefined;",
    replace: "",
  },
  {
    ...told,
    name: "a log may begin with a change that is approved already",
    find: "if (detail.status !== status || detail.digest === undefined) return undefined;",
    replace: "if (detail.digest === undefined) return undefined;",
  },
  {
    ...record,
    name: "a record may show another name under a consent than the log",
    find: compared,
    replace: compared.replace("!same", 'field !== "approvals" && !same'),
  },
  {
    ...record,
    name: "a record may show another status than the log",
    find: compared,
    replace: compared.replace("!same", 'field !== "status" && !same'),
  },
  {
    ...record,
    name: "a record may ask for fewer consents than the log",
    find: compared,
    replace: compared.replace("!same", 'field !== "required_approvers" && !same'),
  },
  {
    ...record,
    name: "a record's content need not be the one the log was given",
    find: 'if (contentDigest(change, sha256) !== (logged.change.erased ?? logged.change).digest) differing.push("content");',
    replace: "void [contentDigest, sha256];",
  },
  {
    ...reconcile,
    name: "a record may leave out entries about it",
    file: "lib/changes/ledger/scan_records.ts",
    find: "!ids.every((id) => audit.includes(id))",
    replace: "false",
  },
  {
    ...record,
    name: "a record may tell otherwise than the log what its apply was about",
    find: "if (!same(logged.applied, applied))",
    replace: "if (!same(logged.applied, applied) && applied === null)",
  },
  {
    ...reconcile,
    name: "a change whose record is gone is not missed",
    file: "lib/changes/ledger/scan_records.ts",
    find: 'mismatches.set(change_id, ["record"]);',
    replace: "void change_id;",
  },
  {
    ...reconcile,
    name: "a change that the log does not know is none of its business",
    file: "lib/changes/ledger/verify_record.ts",
    find: "entry?.change_id !== changeId)",
    replace: "entry === undefined)",
  },
];
