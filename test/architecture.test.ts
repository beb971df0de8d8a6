/** Who may import whom, and that a handler runs where there is no Node. */
import { readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join, relative } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import packageJson from "../package.json" with { type: "json" };

const ROOT = join(import.meta.dirname, "..");

/** Decisions: pure and synchronous, over their arguments alone. */
const PURE = [
  "lib/audit/entry.ts",
  "lib/governance/canonical_json.ts",
  "lib/governance/change.ts",
  "lib/governance/consent.ts",
  "lib/governance/gates.ts",
  "lib/governance/intent.ts",
  "lib/governance/kpi.ts",
  "lib/governance/names.ts",
  "lib/governance/outcome.ts",
  "lib/governance/policy.ts",
  "lib/governance/propose.ts",
  "lib/governance/transitions.ts",
  "lib/pulse/effect.ts",
];
const PURE_MAY_USE = ["zod", "canonicalize", "lib/errors.ts", "lib/strict_json.ts", ...PURE];

/** TypeScript files below a folder, by their path from the root. */
function files(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .sort();
}

interface Import {
  from: string;
  /** A path from the root for a file of ours, a package's name otherwise. */
  to: string;
  typeOnly: boolean;
}

const STATEMENT = /^(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?"([^"]+)"/gm;
const DYNAMIC = /\bimport\(\s*"([^"]+)"\s*\)/g;

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  const found = [
    ...[...text.matchAll(STATEMENT)].map(([, type, to]) => ({ to: to!, typeOnly: type !== undefined })),
    ...[...text.matchAll(DYNAMIC)].map(([, to]) => ({ to: to!, typeOnly: false })),
  ];
  return found.map(({ to, typeOnly }) => ({ from: file, to: resolved(file, to), typeOnly }));
}

const resolved = (from: string, to: string): string =>
  to.startsWith(".") ? relative(ROOT, join(ROOT, from, "..", to)) : to;

const isOurs = ({ to }: Import): boolean => /^(?:handlers|lib|local|test)\//.test(to) || to === "package.json";
const isBuiltin = ({ to }: Import): boolean => to.startsWith("node:") || builtinModules.includes(to);
const packageOf = ({ to }: Import): string =>
  to
    .split("/")
    .slice(0, to.startsWith("@") ? 2 : 1)
    .join("/");
const told = (wrong: Import[]): string[] => wrong.map(({ from, to }) => `${from} imports ${to}`);

const handlers = files("handlers");
const all = [...handlers, ...files("lib"), ...files("local")].flatMap(importsOf);
const within = (folder: string): Import[] => all.filter(({ from }) => from.startsWith(`${folder}/`));

test("the imports are read at all", () => {
  expect(within("handlers").length).toBeGreaterThan(100);
  expect(within("lib").length).toBeGreaterThan(100);
  expect(all.filter(({ typeOnly }) => typeOnly).length).toBeGreaterThan(50);
});

test("lib imports lib and packages: nothing of Node, of the handlers, of the local program", () => {
  const wrong = within("lib").filter(
    (one) => isBuiltin(one) || (isOurs(one) && !one.to.startsWith("lib/") && one.to !== "package.json"),
  );
  expect(told(wrong)).toEqual([]);
});

test("a handler imports lib and zod: never another handler, never the local program", () => {
  const wrong = within("handlers").filter(
    ({ from, to }) => from !== "handlers/index.ts" && !to.startsWith("lib/") && to !== "zod",
  );
  expect(told(wrong)).toEqual([]);
});

test("handlers/index.ts imports the handlers, lib and the router", () => {
  const wrong = within("handlers").filter(
    ({ from, to }) => from === "handlers/index.ts" && !/^(?:handlers|lib)\//.test(to) && to !== "itty-router",
  );
  expect(told(wrong)).toEqual([]);
});

test("decisions import schemas, errors and each other; of all else only types", () => {
  const wrong = all.filter(({ from, to, typeOnly }) => PURE.includes(from) && !typeOnly && !PURE_MAY_USE.includes(to));
  expect(told(wrong)).toEqual([]);
});

test.each(PURE)("%s is synchronous, and takes clock and chance as arguments", (file) => {
  const code = readFileSync(join(ROOT, file), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
  expect(code).not.toMatch(/\basync\b|\bawait\b|\bPromise\b|Date\.now|new Date\(\)|Math\.random|crypto\./);
});

test("every package that is imported is declared as a dependency", () => {
  const declared = Object.keys(packageJson.dependencies);
  const wrong = all.filter((one) => !isOurs(one) && !isBuiltin(one) && !one.to.startsWith("cloudflare:"));
  expect(told(wrong.filter((one) => !declared.includes(packageOf(one)) && !one.typeOnly))).toEqual([]);
});

test("only hosts and stores that are one know a platform; the environment is read in the local program and the hosts", () => {
  const readers = [...handlers, ...files("lib")].filter(
    (file) =>
      !file.startsWith("lib/hosts/") && /\bprocess\.(?:env|argv)\b/.test(readFileSync(join(ROOT, file), "utf8")),
  );
  expect(readers).toEqual([]);
});

test("every handler bundles for a platform that is none, with everything it needs inside", async () => {
  const { metafile, errors } = await build({
    absWorkingDir: ROOT,
    entryPoints: handlers,
    bundle: true,
    write: false,
    metafile: true,
    outdir: "dist",
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    logLevel: "silent",
  });
  expect(errors).toEqual([]);
  expect(Object.keys(metafile.outputs)).toHaveLength(handlers.length);
  const external = Object.values(metafile.inputs).flatMap(({ imports }) =>
    imports.filter((one) => one.external).map((one) => one.path),
  );
  expect(external).toEqual([]);
  expect(Object.keys(metafile.inputs).filter((input) => /^(?:local|test)\//.test(input))).toEqual([]);
});

test("a handler that reaches for Node would be told", async () => {
  const reaching = (specifier: string) =>
    build({
      stdin: { contents: `import "${specifier}";`, resolveDir: ROOT },
      bundle: true,
      write: false,
      platform: "neutral",
      mainFields: ["module", "main"],
      logLevel: "silent",
    });
  for (const specifier of ["node:fs", "fs", "crypto", "lowdb/node"])
    await expect(reaching(specifier)).rejects.toThrow();
});

test("every endpoint that a handler file declares is in the list, once", async () => {
  const { endpoints } = await import("../handlers/index.ts");
  const declared = await Promise.all(
    handlers
      .filter((file) => file !== "handlers/index.ts")
      .map(async (file) => Object.values((await import(join(ROOT, file))) as Record<string, { path?: string }>)),
  );
  const unlisted = declared.flat().filter((one) => one.path !== undefined && !endpoints.includes(one as never));
  expect(unlisted.map(({ path }) => path)).toEqual([]);
  expect(new Set(endpoints.map(({ method, path }) => `${method} ${path}`)).size).toBe(endpoints.length);
});
