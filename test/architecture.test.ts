/** Who may import whom, and that a handler runs where there is no Node. */
import { readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import { ROOMS } from "./support/rooms.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The floor that a file of lib is on; the rules of governance lie in it, and below the rest of it. */
const floorOf = (file: string): number =>
  ROOMS.findIndex(
    (room) =>
      file === room ||
      (file.startsWith(`${room}/`) &&
        !ROOMS.some((other) => other.startsWith(`${room}/`) && file.startsWith(`${other}/`))),
  );

/** The pure rules use each other, zod, the ground floor and the statistics of rollouts only. */
const RULES = "lib/changes/rules/";
const RULES_MAY_USE = /^(?:zod|lib\/(?:kit|rollout|changes\/rules)\/)/;

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
  /** Loaded when it is needed. */
  lazy: boolean;
}

const STATEMENT = /^(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?"([^"]+)"/gm;
const DYNAMIC = /\bimport\(\s*"([^"]+)"\s*\)/g;

const text = (file: string): string => readFileSync(join(ROOT, file), "utf8");

function importsOf(file: string): Import[] {
  const code = text(file);
  const found = [
    ...[...code.matchAll(STATEMENT)].map(([, type, to]) => ({ to: to!, typeOnly: type !== undefined, lazy: false })),
    ...[...code.matchAll(DYNAMIC)].map(([, to]) => ({ to: to!, typeOnly: false, lazy: true })),
  ];
  return found.map(({ to, ...how }) => ({ from: file, to: resolved(file, to), ...how }));
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
const listImports = (wrong: Import[]): string[] => wrong.map(({ from, to }) => `${from} imports ${to}`);

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
  expect(listImports(wrong)).toEqual([]);
});

test("a handler imports lib and zod: never another handler, never the local program", () => {
  const wrong = within("handlers").filter(
    ({ from, to }) => from !== "handlers/index.ts" && !to.startsWith("lib/") && to !== "zod",
  );
  expect(listImports(wrong)).toEqual([]);
});

test("handlers/index.ts imports the handlers, lib and the router", () => {
  const wrong = within("handlers").filter(
    ({ from, to }) => from === "handlers/index.ts" && !/^(?:handlers|lib)\//.test(to) && to !== "itty-router",
  );
  expect(listImports(wrong)).toEqual([]);
});

test("every file of lib is in a room, and imports only its own and those below", () => {
  expect(files("lib").filter((file) => floorOf(file) === -1)).toEqual([]);
  const up = within("lib").filter(({ from, to }) => to.startsWith("lib/") && floorOf(to) > floorOf(from));
  expect(listImports(up)).toEqual([]);
});

test.each(["lib/changes", "lib/audit", "lib/store", "lib/projections", "lib/find", "lib/operations"])(
  "%s knows nothing of HTTP",
  (room) => {
    expect(listImports(within(room).filter(({ to }) => to.startsWith("lib/http/")))).toEqual([]);
    const shaping = files(room).filter((file) => /\b(?:new Response|new Request|etag)\b/.test(text(file)));
    expect(shaping).toEqual([]);
  },
);

test("a room speaks only of the collections that it or a room below it declares", () => {
  const declared = new Map<string, number>();
  for (const file of files("lib"))
    for (const [, body] of text(file).matchAll(/interface Collections \{([^}]*)\}/g))
      for (const [, name] of body!.matchAll(/^\s+(\w+):/gm))
        declared.set(name!, Math.min(declared.get(name!) ?? Infinity, floorOf(file)));
  const wrong = files("lib").flatMap((file) =>
    [...text(file).matchAll(/\.(?:get|getMany|list|put|delete)\(\s*"(\w+)"/g)]
      .filter(([, name]) => (declared.get(name!) ?? -1) > floorOf(file))
      .map(([, name]) => `${file} uses ${name}`),
  );
  expect(wrong).toEqual([]);
});

test("nothing imports itself by way of others, types included", () => {
  const next = new Map<string, string[]>();
  for (const { from, to } of all)
    if (isOurs({ from, to, typeOnly: false, lazy: false })) next.set(from, [...(next.get(from) ?? []), to]);
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(" → "));
    if (way.includes(file) || done.has(file)) return;
    for (const other of next.get(file) ?? []) visit(other, [...way, file]);
    done.add(file);
  };
  for (const file of next.keys()) visit(file, []);
  expect(circles).toEqual([]);
});

test("the rules import zod, the ground floor, the statistics of rollouts and each other", () => {
  const wrong = all.filter(({ from, to }) => from.startsWith(RULES) && !RULES_MAY_USE.test(to));
  expect(listImports(wrong)).toEqual([]);
});

test.each(files("lib").filter((file) => file.startsWith(RULES)))(
  "%s is synchronous, and takes clock and chance as arguments",
  (file) => {
    const code = text(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    expect(code).not.toMatch(/\basync\b|\bawait\b|\bPromise\b|Date\.now|new Date\(\)|Math\.random|crypto\./);
  },
);

test("the client takes types from the service, and no code", () => {
  const wrong = within("lib/client").filter(
    ({ to, typeOnly }) => !typeOnly && !to.startsWith("lib/client/") && to !== "openapi-fetch",
  );
  expect(listImports(wrong)).toEqual([]);
});

test("a start of the service loads nothing that only tests of an intent need", () => {
  const loaded = new Set(["local/ui_server.ts"]);
  for (const from of loaded)
    for (const one of all) if (one.from === from && !one.lazy && !one.typeOnly) loaded.add(one.to);
  expect(loaded.size).toBeGreaterThan(100);
  expect([...loaded].filter((file) => file === "yaml" || /^local\/(?:scenarios|intent_diff)\//.test(file))).toEqual([]);
});

test("every package that is imported is declared as a dependency", () => {
  const declared = Object.keys({ ...packageJson.dependencies, ...packageJson.peerDependencies });
  // The first is part of the Workers runtime; the build provides the second and bundles the others.
  const given = /^(?:cloudflare:|countersign:console-files$|(?:prom-client|yaml)\b|diff$)/;
  const wrong = all.filter((one) => !isOurs(one) && !isBuiltin(one) && !given.test(one.to));
  expect(listImports(wrong.filter((one) => !declared.includes(packageOf(one)) && !one.typeOnly))).toEqual([]);
});

test("only hosts and platform stores know a platform; only hosts and local read the environment", () => {
  const readers = [...handlers, ...files("lib")].filter(
    (file) => !file.startsWith("lib/hosts/") && /\bprocess\.(?:env|argv)\b/.test(text(file)),
  );
  expect(readers).toEqual([]);
});

test("every handler bundles for a platform that is none, with everything it needs inside", async () => {
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

test("a handler that reaches for Node would be reported", async () => {
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
