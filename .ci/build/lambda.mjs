/** AWS Lambda: a function for each handler, for each group of them, for the cycle and for the console. */
import { join } from "node:path";
import * as esbuild from "esbuild";
import { bundles } from "./bundles.mjs";
import { consoleFilesInPlace } from "./console_files.mjs";
import { withFunctions } from "./functions.mjs";
import { ALL_ENDPOINTS, DESCRIBING, handlerFiles } from "./handler_files.mjs";
import { root } from "./root.mjs";

/** The handlers that may ask a language model, or make a checkpoint as an action. */
const ACTING = ["chat", "action_run_now"];
/** The group that they are in, and that of the handlers that describe the API. */
const ACTING_GROUP = "agent";
const DESCRIBING_GROUP = "docs";

/** Builds into a folder: `<name>/index.mjs`, everything inside; `finish` makes of a bundle's text what is written. */
export async function buildLambda(outdir = join(root, "dist/lambda"), wanted = () => true, finish = withFunctions) {
  const files = await handlerFiles();
  const groups = await filesOfGroups(files);
  const entries = {
    ...Object.fromEntries(files.map((file) => [file, single(file)])),
    ...Object.fromEntries(groups.map(([group, members]) => [`functions/${group}`, grouped(group, members)])),
    "functions/cycle": 'export { handler } from "./lib/hosts/lambda/cycle.ts";',
    "functions/console": CONSOLE_ENTRY,
  };
  return bundles(entries, wanted, {
    outdir,
    entryNames: "[dir]/[name]/index",
    outExtension: { ".js": ".mjs" },
    platform: "node",
    target: "node22",
    finish,
    plugins: [HASHES_OF_NODE, LATE_BUILTINS, CONSOLE_IN_FEW_FILES],
  });
}

/** Each file that is asked for at once takes an instance of its function, and an account may have but ten. */
const CONSOLE_IN_FEW_FILES = consoleFilesInPlace({ splitting: false });

const CONSOLE_ENTRY = `
import packed from "countersign:console-files";
import { consoleFunction } from "./lib/hosts/lambda/console.ts";
export const handler = consoleFunction(packed);
`;

/** The entry of one handler's function. */
function single(file) {
  if (!DESCRIBING[file]) return entry(modulesOf([file]), { acting: ACTING.includes(file) });
  return entry(`${ALL_ENDPOINTS}const modules = [endpoints.filter(({ path }) => path === "${DESCRIBING[file]}")];`, {});
}

/** The entry of a group's function. */
function grouped(group, files) {
  if (group === DESCRIBING_GROUP) return entry(`${ALL_ENDPOINTS}const modules = [endpoints];`, { group });
  return entry(modulesOf(files), { group, acting: group === ACTING_GROUP });
}

const entry = (modules, { group, acting = false }) => `
import { lambdaFunction } from "./lib/hosts/lambda/function.ts";
${acting ? 'import { agentParts as parts } from "./lib/hosts/lambda/agent.ts";' : ""}
${modules}
export const handler = lambdaFunction(modules, { ${group ? `group: "${group}",` : ""} ${acting ? "parts" : ""} });
`;

const modulesOf = (files) =>
  files.map((file, index) => `import * as h${index} from "./handlers/${file}.ts";`).join("\n") +
  `\nconst modules = [${files.map((_, index) => `h${index}`)}];`;

/** The groups of functions with their handler files, as the endpoints in them are declared. */
async function filesOfGroups(files) {
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
  const has = (index, group) =>
    Object.values(modules[`h${index}`]).some((one) => one.path && groups.functionGroup(one) === group);
  return groups.GROUPS.map((group) => [group, files.filter((_, index) => has(index, group))]);
}

/** Loads what Node has when it is first used, not when a bundle is imported: most of it is the logger's. */
const LATE_BUILTINS = {
  name: "late builtins",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: "builtin" }));
    onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule("${path}");`,
    }));
  },
};

/** SHA-256 in script is for platforms that have none at hand. */
const HASHES_OF_NODE = {
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
