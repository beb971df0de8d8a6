/** What the log says of each change, held against what the store says of it. */

const REFOLD = ["test/lib/audit/refold.test.ts"];
const told = { file: "lib/governance/rules/fold.ts", tests: REFOLD };

export const fold = [
  {
    ...told,
    name: "the log may tell of an apply without consent",
    find: 'return told.status === "approved" ? { ...told, status: "applied", applied_at: at } : null;',
    replace: 'return { ...told, status: "applied", applied_at: at };',
    grave: true,
  },
  {
    ...told,
    name: "the log may tell of a decision on what is decided",
    find: 'return told.status === "pending_consent" ? decided(told, detail, at, sha256) : null;',
    replace: "return decided(told, detail, at, sha256);",
  },
  {
    ...told,
    name: "the log may tell of a rollback of what is not applied",
    find: 'return told.status === "applied" ? { ...told, status: "rolled_back", rolled_back_at: at } : null;',
    replace: 'return { ...told, status: "rolled_back", rolled_back_at: at };',
  },
  {
    ...told,
    name: "the log may tell of a failed apply whatever the status",
    find: 'return told.status === "approved" ? told : null;',
    replace: "return told;",
  },
  {
    ...told,
    name: "the log may tell of drift of what is not applied",
    find: 'return told.status === "applied" ? told : null;',
    replace: "return told;",
  },
  {
    ...told,
    name: "a decision on other content is one on this",
    find: "detail.digest === told.digest || detail.digest === undefined ?",
    replace: "true ?",
  },
  {
    ...told,
    name: "one consent is enough, however many the log asks for",
    find: "const enough = approvals >= told.required_approvers;",
    replace: "const enough = true;",
  },
  {
    ...told,
    name: "a record may show another name under a consent than the log",
    find: "[decision, approver, note, at], sha256)",
    replace: "[decision, note, at], sha256)",
  },
  {
    ...told,
    name: "a record's content need not be the one the log was given",
    find: "content: digestOf(change, sha256) === told.digest,",
    replace: "content: true,",
  },
  {
    ...told,
    name: "a record may leave out entries about it",
    find: "audit: audit.join() === told.audit.join(),",
    replace: "audit: true,",
  },
  { ...told, name: "a record may show another status than the log", find: '    "status",\n', replace: "" },
  {
    ...told,
    name: "a record may ask for fewer consents than the log",
    find: '    "required_approvers",\n',
    replace: "",
  },
  {
    name: "a change whose record is gone is not missed",
    file: "lib/governance/reconcile.ts",
    find: "for (const id of unseen) note(id, await settle(store, log, id));",
    replace: "",
    tests: REFOLD,
  },
  {
    name: "a change that the log does not know is none of its business",
    file: "lib/governance/reconcile.ts",
    find: 'return known ? differences(known, record, sha256) : ["log"];',
    replace: "return known ? differences(known, record, sha256) : [];",
    tests: REFOLD,
  },
];
