/** Everything that the documents name exists: options, variables, endpoints, error codes, scripts, imports, files, links. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { app } from "../../handlers/index.ts";
import { type ErrorCode, httpStatus } from "../../lib/kit/errors.ts";
import type { OpenApi } from "../../lib/openapi/document.ts";
import { makeProgram as commandLine } from "../../local/command_line/program.ts";
import { TABLE, toVariableName } from "../../local/options_table.ts";
import packageJson from "../../package.json" with { type: "json" };
import { opened } from "../support/deps.ts";
import { get } from "../support/requests.ts";
import { fileName } from "./code.ts";
import { listCommands } from "./commands.ts";
import { type Document, documents, type Found, ROOT } from "./markdown.ts";
import { isExported } from "./package_exports.ts";

const all = documents();
const text = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** All that the product's own files say. */
const sources = ["lib", "local", "handlers"]
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  )
  .filter((path) => /\.(?:ts|tsx|mjs)$/.test(path))
  .concat("template.yaml")
  .map(text)
  .join("\n");

const lines = ({ prose, blocks }: Document): Found[] => [
  ...prose,
  ...blocks.flatMap((block) => block.text.split("\n").map((line, index) => ({ line: block.line + index, text: line }))),
];

/** A thing that a document names. */
interface Claim {
  document: Document;
  line: number;
  /** Contents of the pattern's groups. */
  parts: string[];
}

/** Names in the documents that match a pattern. */
const named = (pattern: RegExp, where: (document: Document) => Found[] = lines): Claim[] =>
  all.flatMap((document) =>
    where(document).flatMap(({ line, text }) =>
      [...text.matchAll(pattern)].map(([whole, ...parts]) => ({
        document,
        line,
        parts: parts.length > 0 ? parts : [whole],
      })),
    ),
  );

/** All of them must hold; `least` shows that the pattern finds any. */
function allHold(claims: Claim[], holds: (claim: Claim) => boolean, least: number): void {
  const wrong = claims.filter((claim) => !holds(claim));
  expect(
    wrong.map(({ document, line, parts }) => `${document.path}:${line}: ${parts.filter(Boolean).join(" ")}`),
  ).toEqual([]);
  expect(claims.length).toBeGreaterThanOrEqual(least);
}

test("a code span ends on its line", () => {
  allHold(
    named(/^.*`.*$/g, ({ prose }) => prose),
    ({ parts: [line] }) => line!.split("`").length % 2 === 1,
    200,
  );
});

const scripts: Record<string, string> = packageJson.scripts;

/** npm's own commands. */
const OF_NPM = ["cache", "ci", "install", "pack"];

test("npm scripts", () => {
  allHold(
    named(/\bnpm (?:run )?([a-z][\w:]*)/g),
    ({ parts: [name] }) => OF_NPM.includes(name!) || name! in scripts,
    10,
  );
});

/** The source of a script's or a bin's program. */
const programs = Object.fromEntries([
  ...Object.entries(scripts).map(([name, script]) => [`npm ${name}`, / (\S+\.mjs)/.exec(script)?.[1]]),
  ...Object.entries(packageJson.bin).map(([name, file]) => [name, file.replace(/^dist\//, "").replace(/\.js$/, ".ts")]),
]) as Record<string, string | undefined>;

/** The options of every verb of the command line. */
const ofVerbs = commandLine(async () => {}, { out: () => {}, err: () => {} })
  .commands.flatMap((command) => [command, ...command.commands])
  .flatMap(({ options }) => options.map(({ long }) => long))
  .concat("--help", "--version");

/** The text of each source, read once. */
const read = new Map<string, string>();
const textOf = (path: string): string => read.get(path) ?? read.set(path, text(path)).get(path)!;

/** Returns whether a program of ours takes an option: as its source says, in its help or to `parseArgs`. */
function takes(program: string, option: string): boolean {
  if (["ui_server", "npm start", "npm dev"].includes(program))
    return ["help", "version", "check-intent", "scenarios", ...Object.values(TABLE).map(({ flag }) => flag)].includes(
      option,
    );
  if (program === "countersign")
    return ofVerbs.includes(`--${option}`) || ["ui_server", "countersign-verify"].some((other) => takes(other, option));
  const source = programs[program] ?? (existsSync(join(ROOT, program)) ? program : undefined);
  return source !== undefined && new RegExp(`--${option}\\b|^ +"?${option}"?:`, "m").test(textOf(source));
}

/** The program of a command, if it is one of ours. */
function programOf(command: string): string | undefined {
  const words = command.replace(/^(?:\w+=\S* +)+/, "").split(/\s+/);
  if (words[0] === "npm" && OF_NPM.includes(words[1]!)) return undefined;
  if (words[0] === "npm") return `npm ${words[1] === "run" ? words[2] : words[1]}`;
  const program = ["node", "python3"].includes(words[0]!) ? words[1]! : words[0]!;
  const built = Object.entries(packageJson.bin).find(([, file]) => file === program)?.[0];
  return built ?? (program in programs || existsSync(join(ROOT, program)) ? program : undefined);
}

test("options", () => {
  const optionsIn = (command: string) =>
    [...command.matchAll(/(?<=\s|^)--([a-z][a-z-]+)/g)].map(([, option]) => option!);
  const wrong: string[] = [];
  let count = 0;
  for (const { path, blocks, spans } of all) {
    const commands = [...blocks.flatMap((block) => listCommands(block) ?? []), ...spans];
    for (const { line, text } of commands)
      for (const command of text.split(/&&|[|;\n](?! +-)/)) {
        const program = command.trim().startsWith("--") ? undefined : programOf(command.trim());
        const candidates = command.trim().startsWith("--")
          ? Object.keys(programs)
          : program === undefined
            ? []
            : [program];
        if (candidates.length === 0) continue;
        for (const option of optionsIn(command)) {
          count++;
          if (!candidates.some((each) => takes(each, option))) wrong.push(`${path}:${line}: --${option}`);
        }
      }
  }
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(50);
});

test("variables", () => {
  const ofOptions = Object.values(TABLE).map(({ flag }) => toVariableName(flag));
  const secrets = [...text("local/options.ts").matchAll(/\b(?:readTokenVariable|readSecret)\((?:env, )?"(SVC_\w+)"/g)];
  const fromFiles = secrets.map(([, name]) => `${name}_FILE`);
  const known = new Set([...ofOptions, ...fromFiles, ...(sources.match(/\bSVC_[A-Z]\w*/g) ?? [])]);
  allHold(named(/\bSVC_[A-Z]\w*/g), ({ parts: [name] }) => known.has(name!), 40);
});

let openapi: OpenApi;
beforeAll(async () => {
  openapi = await (await app(await opened())(get("/openapi.json"))).json();
});

/** The operations of a path as documents write it: `/api/product/changes/<id>`, `…/{change_id}`, `…/$change_id`. */
const operationsAt = (path: string) => {
  const pattern = new RegExp(`^${path.replaceAll(/<\w+>|:\w+|chg_\w+|\{\w+\}|\$\w+/g, "\\{\\w+\\}")}$`);
  return Object.entries(openapi.paths).flatMap(([template, operations]) =>
    pattern.test(template) ? [operations] : [],
  );
};

test("endpoints", () => {
  const claims = named(
    /(?:\b(GET|POST) )?(\/api\/[\w/<>:{}$-]*[\w}]>?|\/(?:livez|readyz|openapi\.json)\b)(?!.*(?<=\bapi=\S*)$)/g,
  );
  allHold(
    claims,
    ({ parts: [method, path] }) =>
      operationsAt(path!).some((operations) => !method || method.toLowerCase() in operations),
    50,
  );
});

test("parameters of endpoints", () => {
  const claims = named(/(\/api\/[\w/<>:-]+)\?([^\s`'"|]+)/g).flatMap((claim) =>
    [...claim.parts[1]!.matchAll(/(?:^|[&[])([a-z_]+)(?==)/g)].map(([, name]) => ({
      ...claim,
      parts: [claim.parts[0]!, name!],
    })),
  );
  const parametersAt = (path: string) =>
    operationsAt(path).flatMap((operations) => Object.values(operations).flatMap(({ parameters = [] }) => parameters));
  allHold(claims, ({ parts: [path, name] }) => parametersAt(path!).some((parameter) => parameter.name === name), 8);
});

test("error codes and their statuses", () => {
  allHold(
    named(/\b([45]\d\d) `([a-z_]+)`/g),
    ({ parts: [status, code] }) =>
      (httpStatus(code as ErrorCode) ?? Number(status)) === Number(status) && sources.includes(`"${code}"`),
    20,
  );
});

test("metrics and tables", () => {
  // Metrics of the records are listed without what all names begin with.
  const inTable = (name: string): RegExp => new RegExp(`^ +${name.replace("countersign_", "")}: "`, "m");
  allHold(
    named(/`(countersign_[a-z_]+)`/g),
    ({ parts: [name] }) => sources.includes(name!) || inTable(name!).test(sources),
    3,
  );
});

test("imports of the package", () => {
  const claims = named(/["`](countersign(?:\/[\w/*]+)?)["`]/g);
  allHold(claims, ({ parts: [name] }) => isExported(name!), 10);
});

/** The folders of the checkout; what lies in `data`, the service made when it was run here. */
const FOLDERS = readdirSync(ROOT, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() && entry.name !== "data" ? entry.name : [],
);

/** Files that the documents let a reader write: `// hono.ts`. */
const written = new Set(all.flatMap(({ blocks }) => blocks.map(fileName)));

/** Returns the source of a built file. */
const sourcesOf = (path: string): string[] => [
  path.replace(/^dist\/(?=handlers|lib|local)/, "").replace(/\.js$/, ".ts"),
  path.replace(/^dist\/(?:edge|lambda)\//, "handlers/").replace(/(?:\/index)?\.m?js$/, ".ts"),
];

test("files", () => {
  const deployed = text("template.yaml") + text("docs/wrangler.jsonc");
  const claims = named(/^((?:[\w.-]+\/)+[\w.-]*|[\w-]+\.(?:py|ts|mjs|ya?ml|jsonc))$/g, ({ spans }) => spans).filter(
    ({ parts: [path] }) => !path!.includes("/") || FOLDERS.includes(path!.split("/")[0]!),
  );
  allHold(
    claims,
    ({ document, parts: [path] }) =>
      written.has(path!) ||
      [path!, join(dirname(document.path), path!), ...sourcesOf(path!)].some((each) => existsSync(join(ROOT, each))) ||
      (path!.startsWith("dist/") && deployed.includes(path!)),
    15,
  );
});

test("links", () => {
  const claims = all.flatMap((document) => document.links.map(({ line, text }) => ({ document, line, parts: [text] })));
  const within = claims.filter(({ parts: [target] }) => !/^[a-z]+:/.test(target!));
  allHold(
    within,
    ({ document, parts: [target] }) => {
      const [file = "", anchor] = target!.split("#") as [string, string | undefined];
      const path = file === "" ? document.path : normalize(join(dirname(document.path), file));
      if (!existsSync(join(ROOT, path)) || path.startsWith("..")) return false;
      const other = all.find((each) => each.path === relative(".", path));
      return anchor === undefined || (other?.anchors.has(anchor) ?? false);
    },
    30,
  );
});

test("every page of the manual is reached from README", () => {
  const reached = new Set(["README.md"]);
  for (const path of reached)
    for (const { text } of all.find((document) => document.path === path)?.links ?? [])
      reached.add(normalize(join(dirname(path), text.split("#")[0]!)));
  expect(all.map(({ path }) => path).filter((path) => path.startsWith("docs/") && !reached.has(path))).toEqual([]);
});
