/** Everything that the documents mention exists: options, variables, endpoints, error codes, scripts, imports, files, links. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { app } from "../../handlers/index.ts";
import { type ErrorCode, httpStatus } from "../../lib/kit/errors.ts";
import type { OpenApi } from "../../lib/openapi/document.ts";
import { makeProgram as commandLine } from "../../local/command_line/program.ts";
import { TABLE, toVariableName } from "../../local/options_table.ts";
import packageJson from "../../package.json" with { type: "json" };
import { openDeps } from "../support/deps.ts";
import { get } from "../support/requests.ts";
import { fileName } from "./code.ts";
import { listCommands } from "./commands.ts";
import { type Document, documents, type TextAtLine, ROOT } from "./markdown.ts";
import { isExported } from "./package_exports.ts";

const all = documents();
const readText = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The text of all source files of the product. */
const sources = ["lib", "local", "handlers"]
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  )
  .filter((path) => /\.(?:ts|tsx|mjs)$/.test(path))
  .concat("template.yaml")
  .map(readText)
  .join("\n");

const listLines = ({ prose, blocks }: Document): TextAtLine[] => [
  ...prose,
  ...blocks.flatMap((block) => block.text.split("\n").map((line, index) => ({ line: block.line + index, text: line }))),
];

/** A name in a document, such as an option or a path. */
interface Claim {
  document: Document;
  line: number;
  /** The groups of the pattern that found the name; without groups, the complete match. */
  parts: string[];
}

/** Finds the names in the documents that match a pattern. */
const findClaims = (pattern: RegExp, listTexts: (document: Document) => TextAtLine[] = listLines): Claim[] =>
  all.flatMap((document) =>
    listTexts(document).flatMap(({ line, text }) =>
      [...text.matchAll(pattern)].map(([match, ...groups]) => ({
        document,
        line,
        parts: groups.length > 0 ? groups : [match],
      })),
    ),
  );

/** Requires that every claim is true and that there are at least `minCount` claims. */
function requireTrue(claims: Claim[], isTrue: (claim: Claim) => boolean, minCount: number): void {
  const wrong = claims.filter((claim) => !isTrue(claim));
  expect(
    wrong.map(({ document, line, parts }) => `${document.path}:${line}: ${parts.filter(Boolean).join(" ")}`),
  ).toEqual([]);
  expect(claims.length).toBeGreaterThanOrEqual(minCount);
}

test("every code span ends on its line", () => {
  requireTrue(
    findClaims(/^.*`.*$/g, ({ prose }) => prose),
    // An even number of backticks.
    ({ parts: [line] }) => line!.split("`").length % 2 === 1,
    200,
  );
});

const scripts: Record<string, string> = packageJson.scripts;

/** Commands of npm that are no scripts. */
const NPM_COMMANDS = ["cache", "ci", "install", "pack"];

test("npm scripts in the documents exist", () => {
  requireTrue(
    findClaims(/\bnpm (?:run )?([a-z][\w:]*)/g),
    ({ parts: [name] }) => NPM_COMMANDS.includes(name!) || name! in scripts,
    10,
  );
});

/** Source files of the npm scripts and the package's programs, by name. */
const programs = Object.fromEntries([
  ...Object.entries(scripts).map(([name, script]) => [`npm ${name}`, / (\S+\.mjs)/.exec(script)?.[1]]),
  ...Object.entries(packageJson.bin).map(([name, file]) => [name, file.replace(/^dist\//, "").replace(/\.js$/, ".ts")]),
]) as Record<string, string | undefined>;

/** Options of all verbs of the command line. */
const verbOptions = commandLine(async () => {}, { out: () => {}, err: () => {} })
  .commands.flatMap((command) => [command, ...command.commands])
  .flatMap(({ options }) => options.map(({ long }) => long))
  .concat("--help", "--version");

/** Cache of source texts by path. */
const sourceTexts = new Map<string, string>();
const readSource = (path: string): string => sourceTexts.get(path) ?? sourceTexts.set(path, readText(path)).get(path)!;

/** Returns whether a program of the project has an option, by its help or its call of `parseArgs`. */
function hasOption(program: string, option: string): boolean {
  if (["ui_server", "npm start", "npm dev"].includes(program))
    return ["help", "version", "check-intent", "scenarios", ...Object.values(TABLE).map(({ flag }) => flag)].includes(
      option,
    );
  if (program === "countersign")
    return (
      verbOptions.includes(`--${option}`) ||
      ["ui_server", "countersign-verify"].some((other) => hasOption(other, option))
    );
  const source = programs[program] ?? (existsSync(join(ROOT, program)) ? program : undefined);
  return source !== undefined && new RegExp(`--${option}\\b|^ +"?${option}"?:`, "m").test(readSource(source));
}

/** Returns the program of a command, if it belongs to the project. */
function findProgram(command: string): string | undefined {
  const words = command.replace(/^(?:\w+=\S* +)+/, "").split(/\s+/);
  if (words[0] === "npm" && NPM_COMMANDS.includes(words[1]!)) return undefined;
  if (words[0] === "npm") return `npm ${words[1] === "run" ? words[2] : words[1]}`;
  const program = ["node", "python3"].includes(words[0]!) ? words[1]! : words[0]!;
  const built = Object.entries(packageJson.bin).find(([, file]) => file === program)?.[0];
  return built ?? (program in programs || existsSync(join(ROOT, program)) ? program : undefined);
}

test("options in the documents exist", () => {
  const optionsIn = (command: string) =>
    [...command.matchAll(/(?<=\s|^)--([a-z][a-z-]+)/g)].map(([, option]) => option!);
  const wrong: string[] = [];
  let count = 0;
  for (const { path, blocks, spans } of all) {
    const commands = [...blocks.flatMap((block) => listCommands(block) ?? []), ...spans];
    for (const { line, text } of commands)
      // A line that begins with spaces and a hyphen continues the command before it.
      for (const command of text.split(/&&|[|;\n](?! +-)/).map((part) => part.trim())) {
        // An option without a command may belong to any program.
        const candidates = command.startsWith("--") ? Object.keys(programs) : [findProgram(command) ?? []].flat();
        if (candidates.length === 0) continue;
        for (const option of optionsIn(command)) {
          count++;
          if (!candidates.some((program) => hasOption(program, option))) wrong.push(`${path}:${line}: --${option}`);
        }
      }
  }
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(50);
});

test("environment variables in the documents exist", () => {
  const optionVariables = Object.values(TABLE).map(({ flag }) => toVariableName(flag));
  const secrets = [
    ...readText("local/options.ts").matchAll(/\b(?:readTokenVariable|readSecret)\((?:env, )?"(SVC_\w+)"/g),
  ];
  const fileVariables = secrets.map(([, name]) => `${name}_FILE`);
  const variables = new Set([...optionVariables, ...fileVariables, ...(sources.match(/\bSVC_[A-Z]\w*/g) ?? [])]);
  requireTrue(findClaims(/\bSVC_[A-Z]\w*/g), ({ parts: [name] }) => variables.has(name!), 40);
});

let openapi: OpenApi;
beforeAll(async () => {
  openapi = await (await app(await openDeps())(get("/openapi.json"))).json();
});

/** Returns the operations of a path in any notation: `/api/product/changes/<id>`, `…/{change_id}`, `…/$change_id`. */
const operationsAt = (path: string) => {
  const pattern = new RegExp(`^${path.replaceAll(/<\w+>|:\w+|chg_\w+|\{\w+\}|\$\w+/g, "\\{\\w+\\}")}$`);
  return Object.entries(openapi.paths).flatMap(([template, operations]) =>
    pattern.test(template) ? [operations] : [],
  );
};

test("endpoints in the documents exist", () => {
  // A line such as `api=http://127.0.0.1:8420/api/product` names the start of addresses, and no endpoint.
  const claims = findClaims(
    /(?:\b(GET|POST) )?(\/api\/[\w/<>:{}$-]*[\w}]>?|\/(?:livez|readyz|openapi\.json)\b)(?!.*(?<=\bapi=\S*)$)/g,
  );
  requireTrue(
    claims,
    ({ parts: [method, path] }) =>
      operationsAt(path!).some((operations) => !method || method.toLowerCase() in operations),
    50,
  );
});

test("parameters of endpoints in the documents exist", () => {
  const claims = findClaims(/(\/api\/[\w/<>:-]+)\?([^\s`'"|]+)/g).flatMap((claim) =>
    [...claim.parts[1]!.matchAll(/(?:^|[&[])([a-z_]+)(?==)/g)].map(([, name]) => ({
      ...claim,
      parts: [claim.parts[0]!, name!],
    })),
  );
  const parametersAt = (path: string) =>
    operationsAt(path).flatMap((operations) => Object.values(operations).flatMap(({ parameters = [] }) => parameters));
  requireTrue(claims, ({ parts: [path, name] }) => parametersAt(path!).some((parameter) => parameter.name === name), 8);
});

test("error codes in the documents exist and have the right status", () => {
  requireTrue(
    findClaims(/\b([45]\d\d) `([a-z_]+)`/g),
    ({ parts: [status, code] }) =>
      (httpStatus(code as ErrorCode) ?? Number(status)) === Number(status) && sources.includes(`"${code}"`),
    20,
  );
});

test("metrics in the documents exist", () => {
  // The table of metrics about records omits the common prefix.
  const inTable = (name: string): RegExp => new RegExp(`^ +${name.replace("countersign_", "")}: "`, "m");
  requireTrue(
    findClaims(/`(countersign_[a-z_]+)`/g),
    ({ parts: [name] }) => sources.includes(name!) || inTable(name!).test(sources),
    3,
  );
});

test("imports of the package in the documents exist", () => {
  const claims = findClaims(/["`](countersign(?:\/[\w/*]+)?)["`]/g);
  requireTrue(claims, ({ parts: [name] }) => isExported(name!), 10);
});

/** Folders of the checkout, without `data`, which a running service creates. */
const FOLDERS = readdirSync(ROOT, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() && entry.name !== "data" ? entry.name : [],
);

/** Names of files that blocks of the documents create: `// hono.ts`. */
const createdFiles = new Set(all.flatMap(({ blocks }) => blocks.map(fileName)));

/** Returns the possible sources of a built file. */
const listSources = (path: string): string[] => [
  path.replace(/^dist\/(?=handlers|lib|local)/, "").replace(/\.js$/, ".ts"),
  path.replace(/^dist\/(?:edge|lambda)\//, "handlers/").replace(/(?:\/index)?\.m?js$/, ".ts"),
];

test("files that the documents mention exist", () => {
  const deployed = readText("template.yaml") + readText("docs/wrangler.jsonc");
  const claims = findClaims(
    /^((?:[\w.-]+\/)+[\w.-]*|[\w-]+\.(?:py|ts|mjs|ya?ml|jsonc))$/g,
    ({ spans }) => spans,
  ).filter(({ parts: [path] }) => !path!.includes("/") || FOLDERS.includes(path!.split("/")[0]!));
  requireTrue(
    claims,
    ({ document, parts: [path] }) =>
      createdFiles.has(path!) ||
      [path!, join(dirname(document.path), path!), ...listSources(path!)].some((source) =>
        existsSync(join(ROOT, source)),
      ) ||
      (path!.startsWith("dist/") && deployed.includes(path!)),
    15,
  );
});

test("links in the documents have a target", () => {
  const claims = all.flatMap((document) => document.links.map(({ line, text }) => ({ document, line, parts: [text] })));
  const localLinks = claims.filter(({ parts: [target] }) => !/^[a-z]+:/.test(target!));
  requireTrue(
    localLinks,
    ({ document, parts: [target] }) => {
      const [file = "", anchor] = target!.split("#") as [string, string | undefined];
      const path = file === "" ? document.path : normalize(join(dirname(document.path), file));
      if (!existsSync(join(ROOT, path)) || path.startsWith("..")) return false;
      const linked = all.find((other) => other.path === relative(".", path));
      return anchor === undefined || (linked?.anchors.has(anchor) ?? false);
    },
    30,
  );
});

test("every page of the manual can be reached from README", () => {
  const reachable = new Set(["README.md"]);
  // The loop also visits the pages that are added to the set meanwhile.
  for (const path of reachable)
    for (const { text } of all.find((document) => document.path === path)?.links ?? [])
      reachable.add(normalize(join(dirname(path), text.split("#")[0]!)));
  expect(all.map(({ path }) => path).filter((path) => path.startsWith("docs/") && !reachable.has(path))).toEqual([]);
});
