/** Contents: carried by exports, erased on request, and handed to auditors. */

const RULES = ["test/lib/changes/erase.test.ts"];
const GONE = ["test/local/erase.long.test.ts"];
const CONTENTS = ["test/local/contents.long.test.ts"];
const PACK = ["test/handlers/pack.test.ts"];

export const erasure = [
  {
    name: "a content is erased that a rollback would bring back",
    file: "lib/changes/rules/erasure.ts",
    find: "if (!hasNoValue(change))",
    replace: "if (hasNoValue(change))",
    tests: RULES,
  },
  {
    name: "a record says what it likes once its content is erased",
    file: "lib/changes/rules/record.ts",
    find: "(logged.change.erased ?? logged.change).digest)",
    replace: "logged.change.digest && !logged.change.erased)",
    tests: RULES,
  },
  {
    name: "anybody erases where people have keys",
    file: "lib/changes/rules/require_signature.ts",
    find: '  "erase",\n',
    replace: "",
    tests: RULES,
  },
  {
    name: "rebuilt memories are not those that an erasure left",
    file: "lib/projections/memory.ts",
    find: 'if (entry.event_type === "content_erased") return forgetChange(context, entry, step);',
    replace: "",
    tests: RULES,
  },
  {
    name: "the journal keeps what was erased until it is full",
    file: "local/store/file_store.ts",
    find: "if (isDue) await journal.seal();",
    replace: "",
    tests: GONE,
  },
  {
    name: "kept answers keep what was erased",
    file: "lib/operations/erased_answers.ts",
    find: "return changed === answer ? text : JSON.stringify(changed);",
    replace: "return changed === answer ? text : text;",
    tests: GONE,
  },
  {
    name: "previews keep what was erased",
    file: "lib/operations/erased_answers.ts",
    find: "if (!isThere) return object;",
    replace: "if (isThere || !isThere) return object;",
    tests: GONE,
  },
  {
    name: "chat keeps what was erased",
    file: "lib/operations/erasures.ts",
    find: "if (about === undefined && !messages.has(turn.message_id) && !isDrafting) return;",
    replace: "if (about !== undefined || (!messages.has(turn.message_id) && !isDrafting)) return;",
    tests: GONE,
  },
  {
    name: "reports keep what was erased",
    file: "lib/operations/erasures.ts",
    find: "if (about === undefined) return;",
    replace: "if (about !== undefined || !about) return;",
    tests: GONE,
  },
  {
    name: "retrospectives keep what was erased",
    file: "lib/operations/erased_files.ts",
    find: "if (!evolved || newest <= seen) return;",
    replace: "if (!evolved || newest >= seen) return;",
    tests: GONE,
  },
  {
    name: "a week's report goes on quoting what was erased",
    file: "lib/operations/erased_files.ts",
    find: "if (erased.size === 0) continue;",
    replace: "if (erased.size < 2) continue;",
    tests: ["test/lib/operations/evolved_files.test.ts"],
  },
  {
    name: "the effects of a change keep a value that was erased",
    file: "lib/targets/adapter.ts",
    find: "await effects.forget(change_id);",
    replace: "",
    tests: GONE,
  },
  {
    name: "a content that is not what its entry has the hash of passes",
    file: "local/verify/contents.ts",
    find: "else if (digest !== now.digest)",
    replace: 'else if (digest === "")',
    tests: CONTENTS,
  },
  {
    name: "a missing content passes",
    file: "local/verify/contents.ts",
    find: "if (!expected) return undefined;",
    replace: "if (!expected || expected.line > 0) return (expected = undefined);",
    tests: CONTENTS,
  },
  {
    name: "whoever says that a content was erased is believed",
    file: "local/verify/contents.ts",
    find: "...[...erasedContents].map(([change, { line, entry }]) =>",
    replace: "...[...erasedContents].slice(erasedContents.size).map(([change, { line, entry }]) =>",
    tests: CONTENTS,
  },
  {
    name: "a spreadsheet runs what the log tells",
    file: "lib/audit/csv.ts",
    find: 'value.replace(FORMULA_START, "$1\'")',
    replace: "value",
    tests: PACK,
  },
  {
    name: "what somebody wrote is markup on the page of a pack",
    file: "lib/changes/pack/page.ts",
    find: "`<pre>${escapeHtml(canonicalContent(change))}</pre>`,",
    replace: "`<pre>${canonicalContent(change)}</pre>`,",
    tests: PACK,
  },
];
