/** The built-in adapter: the host product's config file is written whole, durable, and back to what it was. */

const FILE = ["test/local/file_adapter/file.test.ts"];
const ADAPTER = ["test/local/file_adapter.test.ts"];
const CRASH = ["test/local/file_adapter/crash.test.ts"];
const atomic = { file: "local/file_adapter/atomic_file.ts" };
const config = { file: "local/file_adapter/config_file.ts", tests: FILE };
const operations = { file: "local/file_adapter/operations.ts", tests: ADAPTER };
const history = { file: "local/file_adapter/history.ts", tests: ["test/local/file_adapter/model.test.ts", ...ADAPTER] };
const adapter = { file: "local/file_adapter.ts" };

export const fileAdapter = [
  {
    ...atomic,
    name: "a reader of the config file may see half of it",
    find: "await files.rename(aside, path);",
    replace: 'await (await files.open(path, "w")).close(); await files.rename(aside, path);',
    tests: [...FILE, ...CRASH],
  },
  {
    ...atomic,
    name: "the config file takes its place before its content is durable",
    find: "    await handle.sync();\n  } finally {\n    await handle.close();\n  }\n}\n\n/** A rename",
    replace: "  } finally {\n    await handle.close();\n  }\n}\n\n/** A rename",
    tests: [...FILE, ...CRASH],
  },
  {
    ...atomic,
    name: "the config file's new name is not made durable",
    find: "  await syncFolder(files, folder);\n",
    replace: "",
    tests: [...FILE, ...CRASH],
  },
  {
    ...atomic,
    name: "what another hand wrote meanwhile is written over",
    find: "if ((await readText(files, path)) !== expected) {",
    replace: "if (false) {",
    tests: FILE,
  },
  {
    ...atomic,
    name: "the config file changes although its time was over",
    find: "    signal.throwIfAborted();\n    await files.rename",
    replace: "    await files.rename",
    tests: [...FILE, ...ADAPTER],
  },
  {
    ...atomic,
    name: "the config file loses its mode",
    find: "      await handle.chmod(before.mode & 0o777);\n",
    replace: "",
    tests: FILE,
  },
  {
    ...atomic,
    name: "a link to the config file is replaced by a file",
    find: "const path = await orIfAbsent(files.realpath(link), link);\n  const folder = dirname(path);\n  const made",
    replace: "const path = link;\n  const folder = dirname(path);\n  const made",
    tests: FILE,
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
    find: "    refuseRoundedNumbers(text);\n",
    replace: "    void refuseRoundedNumbers;\n",
  },
  {
    ...adapter,
    name: "a file of another product is written",
    find: "if (anotherProduct(config)) throw",
    replace: "if (false) throw",
    tests: [...ADAPTER, ...FILE],
  },
  {
    ...adapter,
    name: "what was before a change is kept after the file shows the change",
    find: /( +await history\.keep\(\[\.\.\.records, \.\.\.pruned\]\);\n)([^]*?if \(await replaceText\([^]*?\)\)) (return done;)/,
    replace: "$2 {\n$1 $3\n}",
    tests: CRASH,
  },
  {
    ...operations,
    name: "a rollback leaves the value that was set",
    find: "await restore(config, change, application.key, before, history);",
    replace: "void [restore, before];",
  },
  {
    ...operations,
    name: "a rollback undoes a later change",
    find: "if (later !== undefined) {",
    replace: "if (false) {",
  },
  {
    ...operations,
    name: "verify does not look at the value",
    find: 'return !isOwner(shown) || holdsValue(config, change) ? "applied" : "unknown";',
    replace: 'return "applied";',
  },
  {
    ...operations,
    name: "a repeated apply takes the change's place anew",
    find: 'if (shown?.state === "applied" && !isLost) {',
    replace: "if (false) {",
  },
  {
    ...operations,
    name: "a value that was absent comes back as null",
    find: "  delete values[now.key];\n",
    replace: "  values[now.key] = null;\n",
  },
  {
    ...operations,
    name: "a target in other capitals is another target",
    find: "find((name) => sameTarget(name) === sameTarget(change.target))",
    replace: "find((name) => name === change.target)",
  },
  {
    ...history,
    name: "an owner leaves the file with the oldest entries",
    find: "    .filter(([, entry]) => !isOwner(entry));",
    replace: "    .filter(([, entry]) => entry !== undefined);",
  },
  {
    ...history,
    name: "what was before a change is a value that was itself rolled back",
    find: "while (before.owner !== undefined) {",
    replace: "while (false) {",
  },
  {
    name: "the name __proto__ is no plain member",
    file: "local/file_adapter/json_object.ts",
    find: "Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });",
    replace: "object[name] = value;",
    tests: FILE,
  },
  {
    name: "a young text that another process writes is removed",
    file: "local/file_adapter/leftovers.ts",
    find: "if (now - mtimeMs > YOUNG_MS)",
    replace: "if (true)",
    tests: FILE,
  },
  {
    ...operations,
    name: "a change that the file lost is told as rolled back, and its value stays",
    find: "(shown !== undefined || !isBack(config, change, before))",
    replace: "(shown !== undefined || isBack === undefined)",
  },
  {
    ...operations,
    name: "a change of which nothing is on record is told as rolled back",
    find: 'if (shown === undefined && change.status !== "applied") {',
    replace: "if (shown === undefined) {",
  },
  {
    ...operations,
    name: "a value that nobody can account for is written over",
    find: "if (holdsValue(config, change)) return false;",
    replace: "if (change !== undefined) return false;",
  },
  {
    ...operations,
    name: "in a file that lost a change, the one from before it passes for a later one",
    find: "owner !== (await found()).owner?.change_id ? owner",
    replace: "owner !== undefined ? owner",
  },
  {
    name: "what held the target before and is lost counts as rolled back",
    file: "local/file_adapter/history.ts",
    find: "if (!entry) throw new ConfigBroken(",
    replace: "if (entry === null) throw new ConfigBroken(",
    tests: ["test/local/file_adapter.test.ts"],
  },
];
