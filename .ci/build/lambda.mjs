/** Builds the functions of AWS Lambda: one for each handler and each group of handlers, the cycle and the console. */
import { join } from "node:path";
import * as esbuild from "esbuild";
import { buildBundles } from "./bundles.mjs";
import { createConsoleFilesPlugin } from "./console_files.mjs";
import { replaceArrowFunctions } from "./functions.mjs";
import { ALL_ENDPOINTS, API_DESCRIBING, listHandlerFiles } from "./handler_files.mjs";
import { root } from "./root.mjs";

/** The handlers that may call a language model, or make a checkpoint as an action. */
const ACTING = ["chat", "action_run_now"];
/** The group of these handlers, and that of the handlers that describe the API. */
const ACTING_GROUP = "agent";
const DESCRIBING_GROUP = "docs";

/**
 * Builds `<name>/index.mjs` in a folder, each with every package that it needs, for the names for which `isWanted` is true.
 * `finish` converts the text of a bundle before it is written.
 */
export async function buildLambda(
  outdir = join(root, "dist/lambda"),
  isWanted = () => true,
  finish = replaceArrowFunctions,
) {
  const files = await listHandlerFiles();
  const groups = await listGroupFiles(files);
  const entries = {
    ...Object.fromEntries(files.map((file) => [file, createHandlerEntry(file)])),
    ...Object.fromEntries(groups.map(([group, members]) => [`functions/${group}`, createGroupEntry(group, members)])),
    "functions/cycle": 'export { handler } from "./lib/hosts/lambda/cycle.ts";',
    "functions/console": CONSOLE_ENTRY,
  };
  return buildBundles(entries, isWanted, {
    outdir,
    entryNames: "[dir]/[name]/index",
    outExtension: { ".js": ".mjs" },
    platform: "node",
    target: "node22",
    finish,
    plugins: [NODE_HASHES, LATE_BUILTINS, CONSOLE_IN_FEW_FILES],
  });
}

/** Concurrent requests for files each need an instance of the function, and an account may be limited to ten. */
const CONSOLE_IN_FEW_FILES = createConsoleFilesPlugin({ splitting: false });

const CONSOLE_ENTRY = `
import packed from "countersign:console-files";
import { consoleFunction } from "./lib/hosts/lambda/console.ts";
export const handler = consoleFunction(packed);
`;

/** Returns the source text of one handler's function. */
function createHandlerEntry(file) {
  if (!API_DESCRIBING[file]) return makeEntry(importModules([file]), { acting: ACTING.includes(file) });
  return makeEntry(
    `${ALL_ENDPOINTS}const modules = [endpoints.filter(({ path }) => path === "${API_DESCRIBING[file]}")];`,
    {},
  );
}

/** Returns the source text of a group's function. */
function createGroupEntry(group, files) {
  if (group === DESCRIBING_GROUP) return makeEntry(`${ALL_ENDPOINTS}const modules = [endpoints];`, { group });
  return makeEntry(importModules(files), { group, acting: group === ACTING_GROUP });
}

const makeEntry = (modules, { group, acting = false }) => `
import { lambdaFunction } from "./lib/hosts/lambda/function.ts";
${acting ? 'import { agentParts as parts } from "./lib/hosts/lambda/agent.ts";' : ""}
${modules}
export const handler = lambdaFunction(modules, { ${group ? `group: "${group}",` : ""} ${acting ? "parts" : ""} });
`;

const importModules = (files) =>
  files.map((file, index) => `import * as h${index} from "./handlers/${file}.ts";`).join("\n") +
  `\nconst modules = [${files.map((_, index) => `h${index}`)}];`;

/** Lists the handler files of each group of functions, by the endpoints that they declare. */
async function listGroupFiles(files) {
  const listed = files.map((file, index) => `export * as h${index} from "./handlers/${file}.ts";`).join("\n");
  const { outputFiles } = await esbuild.build({
    stdin: { contents: `${listed}\nexport * as groups from "./lib/hosts/lambda/groups.ts";`, resolveDir: root },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    mainFields: ["module", "main"],
  });
  const { groups, ...modules } = await import(
    `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`
  );
  const isInGroup = (index, group) =>
    Object.values(modules[`h${index}`]).some((one) => one.path && groups.functionGroup(one) === group);
  return groups.GROUPS.map((group) => [group, files.filter((_, index) => isInGroup(index, group))]);
}

/** Loads modules of Node at their first use, not at the import of a bundle, since most of them are only the logger's. */
const LATE_BUILTINS = {
  name: "late builtins",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: "builtin" }));
    onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule("${path}");`,
    }));
  },
};

/** Replaces SHA-256 in JavaScript by Node's own. */
const NODE_HASHES = {
  name: "hashes of Node",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@noble\/hashes\/(?:sha2|hmac)\.js$/ }, ({ path }) => ({ path, namespace: "hashes" }));
    onLoad({ filter: /.*/, namespace: "hashes" }, () => ({
      contents: `
        const crypto = () => process.getBuiltinModule("node:crypto");
        export const sha256 = (bytes) => new Uint8Array(crypto().createHash("sha256").update(bytes).digest());
        export const hmac = (_, key, text) => new Uint8Array(crypto().createHmac("sha256", key).update(text).digest());`,
    }));
  },
};
