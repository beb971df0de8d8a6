/** Tests the allowed imports between folders, and that handlers run without Node. */
import { readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import { ROOMS } from "./support/rooms.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * Returns the level of a file of lib: the index of its room in `ROOMS`, which lists lower levels first. A file may only import files
 * of its own level or below. A file or folder inside a room may have its own place in `ROOMS`, and then has that level.
 */
const findLevel = (file: string): number =>
  ROOMS.findIndex(
    (room) =>
      file === room ||
      (file.startsWith(`${room}/`) &&
        !ROOMS.some((other) => other.startsWith(`${room}/`) && file.startsWith(`${other}/`))),
  );

/** The rules may only import each other, zod, lib/kit and the statistics of rollouts. */
const RULES = "lib/changes/rules/";
const RULES_MAY_USE = /^(?:zod|lib\/(?:kit|rollout|changes\/rules)\/)/;

/** Lists the TypeScript files below a folder, by their path from the root. */
function listFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .sort();
}

interface Import {
  from: string;
  /** The path of a file of this repository from the root, or the name of a package. */
  to: string;
  typeOnly: boolean;
  /** True for a dynamic import. */
  lazy: boolean;
}

const STATEMENT = /^(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?"([^"]+)"/gm;
const DYNAMIC = /\bimport\(\s*"([^"]+)"\s*\)/g;

const readText = (file: string): string => readFileSync(join(ROOT, file), "utf8");

function listFileImports(file: string): Import[] {
  const code = readText(file);
  const found = [
    ...[...code.matchAll(STATEMENT)].map(([, type, to]) => ({ to: to!, typeOnly: type !== undefined, lazy: false })),
    ...[...code.matchAll(DYNAMIC)].map(([, to]) => ({ to: to!, typeOnly: false, lazy: true })),
  ];
  return found.map(({ to, ...how }) => ({ from: file, to: resolveImport(file, to), ...how }));
}

const resolveImport = (from: string, to: string): string =>
  to.startsWith(".") ? relative(ROOT, join(ROOT, from, "..", to)) : to;

const isOwnFile = ({ to }: Import): boolean => /^(?:handlers|lib|local|test)\//.test(to) || to === "package.json";
const isBuiltin = ({ to }: Import): boolean => to.startsWith("node:") || builtinModules.includes(to);
const findPackage = ({ to }: Import): string =>
  to
    .split("/")
    .slice(0, to.startsWith("@") ? 2 : 1)
    .join("/");
const describeImports = (violations: Import[]): string[] => violations.map(({ from, to }) => `${from} imports ${to}`);

const handlers = listFiles("handlers");
const allImports = [...handlers, ...listFiles("lib"), ...listFiles("local")].flatMap(listFileImports);
const listImportsIn = (folder: string): Import[] => allImports.filter(({ from }) => from.startsWith(`${folder}/`));

test("imports are found", () => {
  expect(listImportsIn("handlers").length).toBeGreaterThan(100);
  expect(listImportsIn("lib").length).toBeGreaterThan(100);
  expect(allImports.filter(({ typeOnly }) => typeOnly).length).toBeGreaterThan(50);
});

test("lib imports only lib and packages", () => {
  const violations = listImportsIn("lib").filter(
    (found) => isBuiltin(found) || (isOwnFile(found) && !found.to.startsWith("lib/") && found.to !== "package.json"),
  );
  expect(describeImports(violations)).toEqual([]);
});

test("a handler imports only lib and zod", () => {
  const violations = listImportsIn("handlers").filter(
    ({ from, to }) => from !== "handlers/index.ts" && !to.startsWith("lib/") && to !== "zod",
  );
  expect(describeImports(violations)).toEqual([]);
});

test("handlers/index.ts imports only the handlers, lib and the router", () => {
  const violations = listImportsIn("handlers").filter(
    ({ from, to }) => from === "handlers/index.ts" && !/^(?:handlers|lib)\//.test(to) && to !== "itty-router",
  );
  expect(describeImports(violations)).toEqual([]);
});

test("every file of lib has a level, and imports only files of its level or below", () => {
  expect(listFiles("lib").filter((file) => findLevel(file) === -1)).toEqual([]);
  const upward = listImportsIn("lib").filter(
    ({ from, to }) => to.startsWith("lib/") && findLevel(to) > findLevel(from),
  );
  expect(describeImports(upward)).toEqual([]);
});

test.each(["lib/changes", "lib/audit", "lib/store", "lib/projections", "lib/find", "lib/operations"])(
  "%s does not use HTTP",
  (room) => {
    expect(describeImports(listImportsIn(room).filter(({ to }) => to.startsWith("lib/http/")))).toEqual([]);
    const filesWithHttp = listFiles(room).filter((file) =>
      /\b(?:new Response|new Request|etag)\b/.test(readText(file)),
    );
    expect(filesWithHttp).toEqual([]);
  },
);

test("a file uses only collections that its level or one below declares", () => {
  const declared = new Map<string, number>();
  for (const file of listFiles("lib"))
    for (const [, body] of readText(file).matchAll(/interface Collections \{([^}]*)\}/g))
      for (const [, name] of body!.matchAll(/^\s+(\w+):/gm))
        declared.set(name!, Math.min(declared.get(name!) ?? Infinity, findLevel(file)));
  const violations = listFiles("lib").flatMap((file) =>
    [...readText(file).matchAll(/\.(?:get|getMany|list|put|delete)\(\s*"(\w+)"/g)]
      .filter(([, name]) => (declared.get(name!) ?? -1) > findLevel(file))
      .map(([, name]) => `${file} uses ${name}`),
  );
  expect(violations).toEqual([]);
});

test("there are no circular imports, also of types", () => {
  const importsByFile = new Map<string, string[]>();
  for (const { from, to } of allImports)
    if (isOwnFile({ from, to, typeOnly: false, lazy: false }))
      importsByFile.set(from, [...(importsByFile.get(from) ?? []), to]);
  const visited = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" → "));
    if (path.includes(file) || visited.has(file)) return;
    for (const other of importsByFile.get(file) ?? []) visit(other, [...path, file]);
    visited.add(file);
  };
  for (const file of importsByFile.keys()) visit(file, []);
  expect(circles).toEqual([]);
});

test("the rules import only zod, lib/kit, the statistics of rollouts and each other", () => {
  const violations = allImports.filter(({ from, to }) => from.startsWith(RULES) && !RULES_MAY_USE.test(to));
  expect(describeImports(violations)).toEqual([]);
});

test.each(listFiles("lib").filter((file) => file.startsWith(RULES)))(
  "%s is synchronous, and gets time and random numbers as arguments",
  (file) => {
    const code = readText(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    expect(code).not.toMatch(/\basync\b|\bawait\b|\bPromise\b|Date\.now|new Date\(\)|Math\.random|crypto\./);
  },
);

test("the client imports only types from the service", () => {
  const violations = listImportsIn("lib/client").filter(
    ({ to, typeOnly }) => !typeOnly && !to.startsWith("lib/client/") && to !== "openapi-fetch",
  );
  expect(describeImports(violations)).toEqual([]);
});

test("a start of the service loads no code for tests of intents", () => {
  const loadedFiles = new Set(["local/ui_server.ts"]);
  // The loop also visits the files that it adds.
  for (const from of loadedFiles)
    for (const { to, lazy, typeOnly, from: file } of allImports)
      if (file === from && !lazy && !typeOnly) loadedFiles.add(to);
  expect(loadedFiles.size).toBeGreaterThan(100);
  expect(
    [...loadedFiles].filter((file) => file === "yaml" || /^local\/(?:scenarios|intent_diff)\//.test(file)),
  ).toEqual([]);
});

test("every package that is imported for more than types is declared as a dependency", () => {
  const declared = Object.keys({ ...packageJson.dependencies, ...packageJson.peerDependencies });
  // `cloudflare:` is part of the Workers runtime; the build provides the console's files and bundles the other packages.
  const PROVIDED = /^(?:cloudflare:|countersign:console-files$|(?:prom-client|yaml)\b|diff$)/;
  const violations = allImports.filter((found) => !isOwnFile(found) && !isBuiltin(found) && !PROVIDED.test(found.to));
  expect(
    describeImports(violations.filter((found) => !declared.includes(findPackage(found)) && !found.typeOnly)),
  ).toEqual([]);
});

test("only hosts and the local program read the environment", () => {
  const readers = [...handlers, ...listFiles("lib")].filter(
    (file) => !file.startsWith("lib/hosts/") && /\bprocess\.(?:env|argv)\b/.test(readText(file)),
  );
  expect(readers).toEqual([]);
});

test("every handler can be bundled for a neutral platform with all its packages", async () => {
  const { metafile, errors } = await build({
    absWorkingDir: ROOT,
    entryPoints: handlers,
    bundle: true,
    // Shared parts are bundled once.
    splitting: true,
    write: false,
    metafile: true,
    outdir: "dist",
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    logLevel: "silent",
  });
  expect(errors).toEqual([]);
  expect(Object.values(metafile.outputs).filter(({ entryPoint }) => entryPoint)).toHaveLength(handlers.length);
  const external = Object.values(metafile.inputs).flatMap(({ imports }) =>
    imports.filter((one) => one.external).map((one) => one.path),
  );
  expect(external).toEqual([]);
  expect(Object.keys(metafile.inputs).filter((input) => /^(?:local|test)\//.test(input))).toEqual([]);
});

test("a bundle that imports a module of Node fails", async () => {
  const bundleImport = (specifier: string) =>
    build({
      stdin: { contents: `import "${specifier}";`, resolveDir: ROOT },
      bundle: true,
      write: false,
      platform: "neutral",
      mainFields: ["module", "main"],
      logLevel: "silent",
    });
  for (const specifier of ["node:fs", "fs", "crypto", "lowdb/node"])
    await expect(bundleImport(specifier)).rejects.toThrow();
});

test("every endpoint of a handler file is listed once", async () => {
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
