/** The console: what it works out by itself, and the dialog in which a decision is made. */

const DOMAIN = ["test/ui/domain.test.ts"];
const check = { file: "local/ui/domain/audit_check.ts", tests: DOMAIN };
const offers = { file: "lib/changes/rules/offers.ts", tests: ["test/lib/changes/offers.test.ts"] };
const walk = {
  file: "local/ui/domain/walk_chain.ts",
  tests: ["test/ui/audit.browser.long.test.ts"],
  only: "checked in the browser",
};
const dialog = { file: "local/ui/parts/action_dialog.tsx", tests: ["test/ui/decisions.browser.test.ts"] };
const CONSENT = ["test/ui/consent.browser.long.test.ts"];
const FAULTS = ["test/ui/faults.browser.long.test.ts"];

const UNDO = ["test/ui/undo.browser.long.test.ts"];
const PLACE = ["test/ui/follow_ups.test.ts"];

export const console = [
  {
    file: "local/ui/core/locale.ts",
    name: "a browser's language that is none is taken",
    find: "return Intl.NumberFormat.supportedLocalesOf(one).length > 0;",
    replace: "return true;",
    tests: FAULTS,
    only: "a language that is none",
  },
  {
    file: "local/ui/pages/propose/proposal_preview.tsx",
    name: "a proposal is warned of other tenants' changes",
    find: ' tenant:"${tenant}"',
    replace: "",
    tests: FAULTS,
    only: "same tenant",
  },
  {
    name: "the console asks for a late note that was given",
    file: "lib/changes/rules/late_items.ts",
    find: "isDecided(change) && !lateItems(change).includes(item) &&",
    replace: "isDecided(change) &&",
    tests: ["test/ui/on_record.browser.long.test.ts"],
  },
  {
    name: "an applied change that drifted looks applied",
    file: "local/ui/domain/statuses.ts",
    find: 'if (status === "applied" && drift) return DRIFTED;',
    replace: "",
    tests: PLACE,
  },
  {
    name: "a look at the host is kept under a key, which is a write",
    file: "local/ui/pages/change/use_dry_run.tsx",
    find: "{ revision, key: null }",
    replace: "{ revision }",
    tests: UNDO,
    only: "before anybody consents",
  },
  {
    name: "a proposal is made of a value that its kind's field cannot hold",
    file: "local/ui/domain/kinds.ts",
    find: "canonicalJson(JSON.parse(json)) === canonicalJson(value) ? text",
    replace: "true ? text",
    tests: PLACE,
  },
  {
    name: "a page hears nothing of the proposal in its change's place",
    file: "local/ui/domain/follow_ups.ts",
    find: "|| detail.includes(id)",
    replace: "",
    tests: PLACE,
  },
  {
    ...check,
    name: "the browser takes an altered entry for sound",
    find: 'if (!hasOwnHash(entry)) return "its content does not give its hash";',
    replace: "",
  },
  {
    ...check,
    name: "the browser takes a relinked entry for sound",
    find: "return entry.previous_hash === last.hash ? undefined :",
    replace: "return true ? undefined :",
  },
  {
    ...walk,
    name: "the browser does not miss a tail that was cut",
    find: "expect && expect.id > length && to === undefined",
    replace: "false",
  },
  {
    ...walk,
    name: "the browser does not hold the log against its receipt",
    find: "if (!entry || entry.current_hash === expect.hash) return undefined;",
    replace: "if (!entry || expect) return undefined;",
  },
  {
    ...offers,
    name: "an answer offers everybody what a change of its status takes",
    find: "return reader ? judgeCommand(change, { type }, { reader, judging }) : [];",
    replace: "return [];",
  },
  {
    ...offers,
    name: "an answer offers an apply to those whom the intent does not list for it",
    find: "requirePermission(type, claimed, intent);",
    replace: "",
  },
  {
    ...dialog,
    name: "the dialog decides on another revision than it shows",
    find: "{ revision, key: key(fields) }",
    replace: "{ key: key(fields) }",
    only: "stopped by the service",
  },
  {
    ...dialog,
    name: "a decision that is sent again is made again",
    find: "{ revision, key: key(fields) }",
    replace: "{ revision, key: String(Math.random()) }",
    only: "an answer that was lost",
  },
  {
    ...dialog,
    name: "the dialog still sends when the change is another one",
    find: "{stale ? (\n            <button",
    replace: "{false ? (\n            <button",
    only: "nothing is swapped",
  },
  {
    file: "local/ui/pages/change/use_setter.tsx",
    tests: ["test/ui/decisions.browser.test.ts"],
    name: "what a rollback brings back is shown without its digest",
    find: "portableSha256(canonicalJson(value)) === digest",
    replace: "true",
    only: "dialog of a rollback",
  },
  {
    file: "local/ui/domain/statement.ts",
    tests: CONSENT,
    name: "the console has content signed that is not what its digest says",
    find: "portableSha256(canonicalContent(change)) !== digest",
    replace: "false",
    only: "content that is not what its digest says",
  },
  {
    file: "local/ui/domain/passkeys.ts",
    tests: CONSENT,
    name: "the console does not ask that the person is verified",
    find: 'userVerification: "required",\n    timeout',
    replace: 'userVerification: "discouraged",\n    timeout',
    only: "who is not recognised",
  },
  {
    file: "local/ui/core/live.ts",
    tests: ["test/ui/protected.browser.long.test.ts"],
    name: "the event stream of the console carries no token",
    find: 'headers = { accept: "text/event-stream", ...makeTokenHeaders() }',
    replace: 'headers = { accept: "text/event-stream" }',
    only: "the read token",
  },
  {
    name: "the window's title counts for everybody what waits for anybody",
    file: "local/ui/parts/title_count.tsx",
    find: "(own.data?.waiting_for_you ?? own.data?.pending)",
    replace: "own.data?.pending",
    tests: ["test/ui/messages.browser.long.test.ts"],
    only: "the title counts",
  },
];
