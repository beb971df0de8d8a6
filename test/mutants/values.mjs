/** What is governed, as products read it, and waiting for a decision. */

const VALUES = ["test/lib/operations/values.test.ts"];
const OFREP = ["test/lib/http/ofrep.test.ts"];
const AWAITED = ["test/lib/changes/await_status.test.ts"];
const projection = { file: "lib/projections/values.ts", tests: VALUES };
const reader = { file: "lib/operations/values.ts", tests: VALUES };
const readVerifiedChanges = { file: "lib/changes/ledger/read_changes.ts", tests: VALUES };
const flags = { file: "lib/http/ofrep.ts", tests: OFREP };
const awaited = { file: "lib/changes/await_status.ts", tests: AWAITED };

export const values = [
  {
    ...projection,
    name: "a value that was rolled back stays that of its target",
    find: "else await restoreValue(",
    replace: "else if (begin < 0) await restoreValue(",
  },
  {
    ...projection,
    name: "a rollback leaves nothing, where a change before it holds the target",
    find: 'if (before) tx.put("values"',
    replace: 'if (before === null) tx.put("values"',
  },
  {
    ...projection,
    name: "a change that sets no value takes the value of the one before it away",
    find: 'if (entry.value === undefined && !(change.erased && change.status === "rolled_back")) return;',
    replace: "",
  },
  {
    ...projection,
    name: "a value of an erased change is removed in another way than it was set",
    find: '!(change.erased && change.status === "rolled_back")',
    replace: "!change.erased",
  },
  {
    ...reader,
    name: "a change that the log has as rolled back, or applied at another place, is given out as a value",
    find: 'if (status !== "applied" || applied?.entry !== entry || !set) return MOVED;',
    replace: "if (!applied || !set) return MOVED;",
  },
  {
    ...reader,
    name: "another tenant's value is given out",
    find: "listEntries(change).find((each) => valueKey(each.tenant_id, each.target) === one.place)",
    replace: "listEntries(change)[0]",
  },
  {
    ...reader,
    name: "an older value is given out where its row was edited to be the newest",
    find: 'if (later.some((other) => "problem" in other || setsTarget(other.change, set))) return MOVED;',
    replace: "",
  },
  {
    ...reader,
    name: "what was rolled back between two looks is taken for an edit",
    find: "found.includes(MOVED)) throw new Moved();",
    replace: "found.includes(MOVED)) void Moved;",
  },
  {
    ...readVerifiedChanges,
    name: "a value that its digest is not of is given out",
    find: "if (fields.length > 0) return",
    replace: "if (fields.length > 9) return",
  },
  {
    ...readVerifiedChanges,
    name: "a value is believed by entries that were edited with it",
    find: "|| outline.hasEntry(entry)",
    replace: "|| outline.hasEntry !== undefined",
  },
  {
    ...readVerifiedChanges,
    name: "a record set back to before its rollback is believed",
    find: "if (await isIncomplete(deps, changeId, ids, end))",
    replace: "if (false)",
  },
  {
    ...readVerifiedChanges,
    name: "a value is given out that is told of where the chain does not hold",
    find: "if (from !== undefined && ids.some((id) => id >= from))",
    replace: "if (false)",
  },
  {
    ...flags,
    name: "the value for every tenant goes before a tenant's own",
    find: ": [named, EVERY_TENANT]",
    replace: ": [EVERY_TENANT, named]",
  },
  {
    ...flags,
    name: "a broken request is told of in a shape that no provider reads",
    find: "answer({ ...named, errorCode, errorDetails: message }, status, headers)",
    replace: "answer({ error: message, code }, status, headers)",
  },
  {
    file: "lib/http/ofrep.ts",
    name: "who polls for flags hears that nothing changed whatever did",
    find: "alreadyHas(request)?.(tag) ?",
    replace: "alreadyHas(request) ?",
    tests: OFREP,
  },
  {
    file: "lib/http/endpoint.ts",
    name: "a key is cut off at its first slash",
    find: "decodeSegment(whole.slice(begin + stem.length))",
    replace: 'decodeSegment(whole.slice(begin + stem.length).split("/")[0]!)',
    tests: OFREP,
  },
  {
    file: "lib/http/admission.ts",
    name: "asking for a flag is taken for a write",
    find: 'method === "POST" && !reads;',
    replace: 'method === "POST" || reads === false;',
    tests: OFREP,
  },
  {
    ...awaited,
    name: "who waits for a decision is not woken by it, but by the clock",
    find: "while (!(await commits.wait(count, poll, ended.signal)));",
    replace: "await never.wait(0, poll, ended.signal);",
  },
  {
    ...awaited,
    name: "a decision between a look and the wait is missed",
    find: "while (!(await commits.wait(count, poll, ended.signal)));",
    replace: "while (!(await commits.wait(commits.count, poll, ended.signal)));",
  },
  {
    ...awaited,
    name: "what another process decides is never seen",
    find: "while (!(await commits.wait(count, poll, ended.signal)));",
    replace: "while (!(await commits.wait(count, 2 ** 31 - 1, ended.signal)));",
  },
  {
    ...awaited,
    name: "who has gone keeps a place",
    find: 'signal?.addEventListener("abort", end);',
    replace: "",
  },
  {
    ...awaited,
    name: "everybody who waits looks at each commit",
    find: "await never.wait(0, pause, ended.signal);",
    replace: "",
  },
  {
    file: "handlers/product/change.ts",
    name: "who waits for a change that is over asks again without end",
    find: "if (has && !moved && !isFinal(now.status))",
    replace: "if (has && !moved && now.status)",
    tests: AWAITED,
  },
];
