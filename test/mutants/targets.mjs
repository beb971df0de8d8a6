/** Target systems: nothing is written without a durable intention, and a rollback restores exactly what was replaced. */

const BYTES = ["test/local/targets/file/bytes.test.ts"];
const FILE = ["test/local/targets/file.test.ts"];
const CRASH = ["test/local/targets/file/crash.test.ts"];
const FLAGD = ["test/local/targets/flagd.test.ts"];
const MODEL = ["test/local/targets/file/model.host.test.ts"];
const GIT = ["test/local/targets/git_files.host.test.ts"];
const GIT_SAFETY = ["test/local/targets/git_safety.host.test.ts"];
const PATCHES = ["test/local/targets/git_patches.host.test.ts"];
const UNLEASH = ["test/local/targets/unleash.long.test.ts"];
const WEBHOOK = ["test/lib/targets/webhook.test.ts"];
const UNLEASH_VALUE = ["test/local/targets/unleash_value.test.ts"];
const RECIPES = ["test/local/example_recipes.test.ts"];
const atomic = { file: "local/targets/atomic_file.ts" };
const config = { file: "local/targets/product_config.ts", tests: BYTES };
const file = { file: "local/targets/file.ts", tests: FILE };
const ADAPTER = ["test/lib/targets/adapter.test.ts"];
const adapter = { file: "lib/targets/adapter.ts", tests: ADAPTER };
const writes = { file: "lib/targets/writes.ts", tests: ADAPTER };
const effects = { file: "lib/targets/effects.ts", tests: [...ADAPTER, ...MODEL] };

export const targets = [
  {
    ...atomic,
    name: "a reader of the config file may see half of it",
    find: "await files.rename(temporary, path);",
    replace: 'await (await files.open(path, "w")).close(); await files.rename(temporary, path);',
    tests: [...BYTES, ...CRASH],
  },
  {
    ...atomic,
    name: "the config file takes its place before its content is durable",
    find: "    await handle.sync();\n  } finally {\n    await handle.close();\n  }\n}\n\n/** A rename",
    replace: "  } finally {\n    await handle.close();\n  }\n}\n\n/** A rename",
    tests: [...BYTES, ...CRASH],
  },
  {
    ...atomic,
    name: "the config file's new name is not made durable",
    find: "  await syncFolder(files, folder);\n",
    replace: "",
    tests: [...BYTES, ...CRASH],
  },
  {
    ...atomic,
    name: "what another hand wrote meanwhile is written over",
    find: "if ((await readText(files, path)) !== expected) {",
    replace: "if (false) {",
    tests: BYTES,
  },
  {
    ...atomic,
    name: "the config file changes although its time was over",
    find: "    signal.throwIfAborted();\n    await files.rename",
    replace: "    await files.rename",
    tests: [...BYTES, ...FILE],
  },
  {
    ...atomic,
    name: "the config file loses its mode",
    find: "      await handle.chmod(before.mode & 0o777);\n",
    replace: "",
    tests: BYTES,
  },
  {
    ...atomic,
    name: "a link to the config file is replaced by a file",
    find: "const path = await orIfAbsent(files.realpath(link), link);\n  const folder = dirname(path);\n  const made",
    replace: "const path = link;\n  const folder = dirname(path);\n  const made",
    tests: BYTES,
  },
  {
    ...config,
    name: "a file of another format is written over",
    find: "if (format !== FORMAT)",
    replace: "if (false)",
  },
  {
    ...config,
    name: "what another hand put into the file is lost",
    find: "{ ...known, ...rest, ...known, values, changes }",
    replace: "{ ...known, values, changes }",
  },
  {
    ...config,
    name: "another hand's long number comes back rounded",
    find: "    requireExactNumbers(text);\n",
    replace: "    void requireExactNumbers;\n",
  },
  {
    ...file,
    name: "a file of another product is written",
    find: "if (config.product_id !== undefined && config.product_id !== product_id)",
    replace: "if (product_id === undefined)",
  },
  {
    ...file,
    name: "what another program wrote into a target is overwritten by a rollback",
    find: "if (held.version !== expected.version)",
    replace: "if (expected === undefined)",
    tests: ["test/contract/adapter.test.ts", ...FILE],
  },
  {
    ...file,
    name: "a target in other capitals is another target",
    find: "find((name) => normalizeTarget(name) === normalizeTarget(target))",
    replace: "find((name) => name === target)",
  },
  {
    ...config,
    name: "an owner leaves the file with the oldest entries",
    find: "if (!isOwner(change)) delete changes[id];",
    replace: "delete changes[id];",
    tests: FILE,
  },
  {
    ...writes,
    name: "a target is written before what it replaces is durable",
    find: /( +await Promise\.all\(left\.map\(\(index\) => effects\.begin\([^]*?;\n)( +const set = await [^]*?;\n)/,
    replace: "$2$1",
    tests: [...ADAPTER, ...CRASH],
  },
  {
    ...writes,
    name: "a rollback leaves the value that was set",
    find: "const next = record.previous!.value === undefined ? undefined : record.previous;",
    replace: "void record; const next = held[index]!;",
  },
  {
    ...adapter,
    file: "lib/targets/log_checks.ts",
    name: "a rollback undoes a later change",
    find: "if (isLater && !isForged) return true;",
    replace: "if (isLater && isForged) return true;",
  },
  {
    ...writes,
    name: "a rollback overwrites a value that another program set",
    find: "const drift = overDrift ? undefined :",
    replace: "const drift = overDrift || !overDrift ? undefined :",
  },
  {
    ...adapter,
    name: "verify does not look at the value",
    find: 'if (isEqual(held, appliedValue(change, record))) return "applied";',
    replace: 'if (held) return "applied";',
  },
  {
    ...adapter,
    name: "a repeated apply records another previous value",
    find: 'if (record?.state === "applied" || wasRollingBack) {',
    replace: "if (wasRollingBack) {",
  },
  {
    ...adapter,
    name: "a change of which nothing is on record is reported as rolled back",
    find: "if (fromLog?.digest === undefined) throw new Error(`what ${change_id} replaced is not on record; ${MANUAL_ROLLBACK_HINT}`);",
    replace: "",
    tests: FILE,
  },
  {
    ...effects,
    name: "what was before a change is a value that was itself rolled back",
    find: "return { ...later, previous, replaced };",
    replace: "return later;",
  },
  {
    ...effects,
    name: "the change that was replaced does not hold the target again after a rollback",
    find: "...(owner === id && { owner: replaced })",
    replace: "...(owner === id && { owner: undefined })",
  },
  {
    name: "the name __proto__ is no plain member",
    file: "local/targets/json_object.ts",
    find: "Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });",
    replace: "object[name] = value;",
    tests: BYTES,
  },
  {
    name: "a young text that another process writes is removed",
    file: "local/targets/leftovers.ts",
    find: "if (now - mtimeMs > MIN_AGE_MS)",
    replace: "if (true)",
    tests: BYTES,
  },
  {
    file: "local/targets/flagd.ts",
    name: "a rollback of a flag restores its value, not its text",
    find: "next.raw === undefined",
    replace: "next.value !== undefined",
    tests: FLAGD,
  },
  {
    file: "local/targets/flagd.ts",
    name: "a flagd file that readers reject is written",
    find: "if (problem !== undefined) throw new FileUnusable(",
    replace: "if (problem === null) throw new FileUnusable(",
    tests: FLAGD,
  },
  {
    file: "local/targets/flagd.ts",
    name: "an edit of a flag by another program is overwritten",
    find: "if (held.version !== expected.version)",
    replace: "if (expected === undefined)",
    tests: FLAGD,
  },
  {
    file: "local/targets/json_text.ts",
    name: "a flag that is removed leaves a comma",
    find: "if (before) return text.slice(0, before.end) + text.slice(found.end);",
    replace: "if (before) return text.slice(0, found.start) + text.slice(found.end);",
    tests: FLAGD,
  },
  {
    file: "local/targets/git/repository.ts",
    name: "a push moves a branch that stands inside the range",
    find: "const lease = `--force-with-lease=${ref}:${base}`;",
    replace: 'const lease = "--no-force-with-lease";',
    tests: PATCHES,
  },
  {
    file: "local/targets/git/repository.ts",
    name: "a push replaces the history of the branch",
    find: "if (!(await isAncestor(base, head, signal)))",
    replace: "if (base === head)",
    tests: PATCHES,
  },
  {
    file: "local/targets/git/repository.ts",
    name: "a configuration that was written into the cached clone stays",
    find: "if (config !== CONFIG)",
    replace: "if (config === undefined)",
    tests: GIT_SAFETY,
  },
  {
    file: "local/targets/git/push.ts",
    name: "a push that was stopped is reported as failed",
    find: 'if (code === null) return { state: "unknown" };',
    replace: 'if (code === null) return { state: "rejected", reason: "stopped" };',
    tests: GIT,
  },
  {
    file: "local/targets/git/files.ts",
    name: "a rollback in git writes other bytes",
    find: "return next.raw;",
    replace: "return renderJson(next.value);",
    tests: GIT,
  },
  {
    file: "local/targets/git.ts",
    name: "an attempt that may still come is reported as not done",
    find: 'MAX_LATE_PUSH_MS ? "open" : "not_done"',
    replace: 'MAX_LATE_PUSH_MS ? "not_done" : "not_done"',
    tests: GIT,
  },
  {
    file: "local/targets/git.ts",
    name: "an attempt that failed before its push stays open",
    find: "if (!sent.has(attempt)) unsent.add(attempt);",
    replace: "",
    tests: GIT,
  },
  {
    file: "local/targets/git/patch.ts",
    name: "the revert of a code patch takes later commits out too",
    find: "const tree = now === after ? before : await",
    replace: "const tree = now !== undefined ? before : await",
    tests: PATCHES,
  },
  {
    ...effects,
    name: "a later code patch keeps an earlier one from being reverted",
    find: "(isCumulative(change) ? change.change_id :",
    replace: '(isCumulative(change) ? "" :',
    tests: PATCHES,
  },
  {
    file: "local/targets/unleash.ts",
    name: "a flag of Unleash is deleted before its archiving is recorded, which ends the server",
    find: "      await waitForArchiving(flag, signal);\n",
    replace: "",
    tests: UNLEASH,
  },
  {
    file: "lib/targets/webhook.ts",
    name: "a webhook that does not run looks as if it works",
    find: "      connection.failed(reason);\n",
    replace: "",
    tests: WEBHOOK,
  },
  {
    file: "lib/targets/webhook.ts",
    name: "a ping hides that the host product rejects the signature",
    find: "connection.problem() ?? signature.problem()",
    replace: "connection.problem()",
    tests: WEBHOOK,
  },
  {
    file: "local/targets/unleash_api.ts",
    name: "an import into Unleash whose answer was lost is reported as not done",
    find: "(isWrite ? new Unanswered(reason) : new Error(reason))",
    replace: "new Error(reason)",
    tests: UNLEASH,
  },
  {
    file: "local/targets/unleash.ts",
    name: "an edit in Unleash that an import overwrote is not reported",
    find: "isSameFlag(before!, after!)",
    replace: "isSameFlag(before!, before!)",
    tests: UNLEASH,
  },
  {
    file: "local/targets/unleash.ts",
    name: "an import over an archived flag of Unleash is reported as done",
    find: "if (!tagged) return undefined;",
    replace: "if (!tagged) return { done: true as const, version: found.version };",
    tests: UNLEASH,
  },
  {
    file: "local/targets/unleash.ts",
    name: "an import into Unleash that cannot be seen afterwards is reported as not done",
    find: "throw error instanceof Unanswered ? error : new Unanswered(",
    replace: "throw error instanceof Unanswered ? error : new Error(",
    tests: UNLEASH,
  },
  {
    file: "local/targets/unleash_value.ts",
    name: "strategies of Unleash are compared with their ids",
    find: 'STRATEGY_MEMBERS = ["name",',
    replace: 'STRATEGY_MEMBERS = ["id", "name",',
    tests: UNLEASH_VALUE,
  },
  {
    file: "local/targets/unleash_value.ts",
    name: "a flag of Unleash is enabled with disabled strategies only",
    find: "strategies.some(({ disabled }) => disabled !== true)",
    replace: "strategies.length > 0",
    tests: UNLEASH_VALUE,
  },
  {
    file: "local/example/recipes/receiver.mjs",
    name: "a recipe restores over an edit by another program",
    find: "if (!isBefore && !isEqual(read.value, mine.value)) throw new Conflict();",
    replace: "",
    tests: RECIPES,
  },
];
