/** The package as a user gets it: packed, unpacked next to its dependencies, and used without this repository. */
import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, normalize } from "node:path";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData, type Problem } from "@arethetypeswrong/core";
import { transform } from "esbuild";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
// @ts-expect-error a build script without types
import * as building from "../esbuild.config.mjs";
import { writeCode } from "./docs/code.ts";
import { documents, ROOT } from "./docs/markdown.ts";
import { killAll, serve, temporaryFolder } from "./e2e/server.ts";
import { node24 } from "./support/node_24.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

interface Manifest {
  bin: Record<string, string>;
  files: string[];
  exports: Record<string, string | { types: string; default: string }>;
  dependencies: Record<string, string>;
}
const { build, buildTypes } = building as Record<string, (path: string) => Promise<unknown>>;
const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;
const run = promisify(execFile);
const folder = temporaryFolder();
const userFolder = join(folder, "user");
const installed = join(userFolder, "node_modules/countersign");
let tarball: string;
let files: { path: string; size: number }[];

/** Links the dependencies of the package, and the types that the compiler needs, into the folder of the user. */
function linkDependencies(): void {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean }>;
  };
  const types = ["node_modules/@types/node", "node_modules/undici-types"];
  for (const [path, { dev }] of Object.entries(packages)) {
    // A package inside another one is linked with it.
    if (path === "" || (dev && !types.includes(path)) || path.split("node_modules/").length > 2) continue;
    if (!existsSync(join(ROOT, path))) continue;
    mkdirSync(dirname(join(userFolder, path)), { recursive: true });
    symlinkSync(join(ROOT, path), join(userFolder, path));
  }
}

beforeAll(async () => {
  const staged = join(folder, "staged");
  mkdirSync(staged);
  for (const path of ["package.json", "README.md", "LICENSE", ...manifest.files])
    if (!path.startsWith("dist") && !path.startsWith("!"))
      cpSync(join(ROOT, path), join(staged, path), { recursive: true });
  const dist = join(staged, "dist");
  await build!(dist);
  await buildTypes!(dist);
  const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts"], { cwd: staged, maxBuffer: 1e8 });
  const [packed] = JSON.parse(stdout) as [{ filename: string; files: typeof files }];
  ({ files } = packed);
  tarball = join(staged, packed.filename);
  mkdirSync(installed, { recursive: true });
  await run("tar", ["-xzf", tarball, "-C", installed, "--strip-components", "1"]);
  linkDependencies();
});

afterAll(killAll);

const runIn = (node: string, script: string) =>
  run(node, ["--input-type=module", "-e", script], { cwd: userFolder, env: { PATH: process.env["PATH"]! } });
const tsc = (cwd: string) => run(join(ROOT, "node_modules/.bin/tsc"), ["-p", "tsconfig.json"], { cwd });
/** Options of the compiler for a strict project. */
const STRICT = { strict: true, module: "nodenext", target: "es2023", types: ["node"], noEmit: true };

test("publint reports nothing", async () => {
  const { messages } = await publint({ pkgDir: installed, pack: false });
  expect(messages).toEqual([]);
});

test("the types are right for projects that import modules", async () => {
  const packed = createPackageFromTarballData(new Uint8Array(readFileSync(tarball)));
  const result = await checkPackage(packed);
  // The package has only ES modules, and the oldest module resolution ignores `exports`.
  const problems = (result.types === false ? [] : (result as { problems: Problem[] }).problems).filter(
    (problem) => !("resolutionKind" in problem && ["node10", "node16-cjs"].includes(problem.resolutionKind)),
  );
  expect(result.types).not.toBe(false);
  expect(problems).toEqual([]);
});

test("the package has no source maps and no tests, and is under 16 MB with its dependencies", async () => {
  const paths = files.map(({ path }) => path);
  expect(paths.filter((path) => path.endsWith(".map") || /^(?:test|node_modules|\.ci)\//.test(path))).toEqual([]);
  expect(paths).toEqual(
    expect.arrayContaining([
      "template.yaml",
      "docs/verify_audit.py",
      "local/example/product_intent.json",
      "dist/LICENSES.txt",
    ]),
  );
  // A deployment to a serverless host builds its own bundle.
  expect(paths.filter((path) => /^dist\/(?:edge|lambda)\//.test(path))).toEqual([]);
  expect(readFileSync(join(installed, "dist/LICENSES.txt"), "utf8")).toMatch(/^prom-client$/m);
  const { measureInstall } = (await import("../.ci/build/install_size.mjs" as string)) as {
    measureInstall(folder: string): Promise<{ bytes: number }>;
  };
  const ownBytes = files.reduce((sum, { size }) => sum + size, 0);
  expect(ownBytes + (await measureInstall(ROOT)).bytes).toBeLessThan(16_000_000);
});

test("every link in README and the manual leads to a file of the package", () => {
  const paths = new Set(files.map(({ path }) => path));
  const isPacked = (path: string) => paths.has(path) || [...paths].some((each) => each.startsWith(`${path}/`));
  const packed = documents().filter(({ path }) => paths.has(path));
  const broken = packed.flatMap(({ path, links }) =>
    links
      .map(({ text }) => text.split("#")[0]!)
      .filter(
        (target) => target !== "" && !/^[a-z]+:/.test(target) && !isPacked(normalize(join(dirname(path), target))),
      )
      .map((target) => `${path}: ${target}`),
  );
  expect(packed.length).toBeGreaterThan(15);
  expect(broken).toEqual([]);
});

const HANDLER_PROGRAM = `import { countersign, type Service } from "countersign";
import { approve } from "countersign/handlers/product/approve";
import { memoryStore } from "countersign/stores/memory";

const intent = { product_id: "shop", version: "1", approved_by: "ana", update_epoch: 1 };
const service: Service = await countersign({ store: memoryStore(), intent });
export const fetch: (request: Request) => Response | Promise<Response> = approve(service.deps);
const body = new URLSearchParams({ change_id: "chg_none", approver: "ana" });
const answer = await fetch(new Request("http://shop.example/api/product/approve", { method: "POST", body }));
console.log(answer.status, ((await answer.json()) as { code: string }).code);
`;

test("one handler is mounted over the memory store in five lines with strict types", async () => {
  writeFileSync(join(userFolder, "tsconfig.json"), JSON.stringify({ compilerOptions: STRICT, files: ["mounted.ts"] }));
  writeFileSync(join(userFolder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(userFolder, "mounted.ts"), HANDLER_PROGRAM);
  await tsc(userFolder);
  writeFileSync(join(userFolder, "wrong.ts"), HANDLER_PROGRAM.replace("memoryStore()", "memory"));
  writeFileSync(join(userFolder, "tsconfig.json"), JSON.stringify({ compilerOptions: STRICT, files: ["wrong.ts"] }));
  await expect(tsc(userFolder)).rejects.toThrow();
});

/** Declarations of Cloudflare's own types that the documents use. */
const WORKERS = `declare module "cloudflare:workers" {
  export class DurableObject<Env = unknown> {
    constructor(ctx: { storage: import("countersign/stores/durable_object").ObjectStorage }, env: Env);
    protected readonly ctx: { storage: import("countersign/stores/durable_object").ObjectStorage };
  }
}
`;

test("the TypeScript in the documents compiles strictly with the published package", async () => {
  const project = join(folder, "reader");
  const packages = join(project, "node_modules");
  mkdirSync(packages, { recursive: true });
  for (const name of readdirSync(join(ROOT, "node_modules")))
    if (!name.startsWith(".")) symlinkSync(join(ROOT, "node_modules", name), join(packages, name));
  symlinkSync(installed, join(packages, "countersign"));
  const documentCode = writeCode(join(project, "code"));
  expect(documentCode.length).toBeGreaterThan(20);
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(project, "workers.d.ts"), WORKERS);
  const compilerOptions = { ...STRICT, skipLibCheck: true };
  const files = [...documentCode, "workers.d.ts"];
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  const { stdout } = await tsc(project).catch((error: { stdout: string }) => error);
  expect(stdout).toBe("");
});

/** The Node that runs the tests, and the newest supported one. */
const NODES: [name: string, find: () => Promise<string>][] = [
  [`Node ${process.versions.node.split(".")[0]}`, async () => process.execPath],
  ["Node 24", node24],
];

describe.each(NODES)("under %s", (name, find) => {
  let node: string | undefined;
  let skipReason = "";
  beforeAll(async () => {
    try {
      node = await find();
    } catch (error) {
      skipReason = `${name} is not tested here: ${(error as Error).message}`;
      process.stderr.write(`${skipReason}\n`);
    }
  });
  const testInNode = (title: string, check: (node: string) => Promise<void>) =>
    test(title, ({ skip }) => (node === undefined ? skip(skipReason) : check(node)));

  testInNode("this version of Node runs", async (node) => {
    expect(`Node ${(await runIn(node, "console.log(process.versions.node)")).stdout}`).toMatch(`${name}.`);
  });

  testInNode("every export can be imported without this repository", async (node) => {
    // The store in Postgres comes first: it needs a package that the user has not installed.
    const [optional, ...others] = Object.keys(manifest.exports)
      .filter((name) => !name.includes("*") && !name.endsWith(".json"))
      .sort((a, b) => Number(b.endsWith("/postgres")) - Number(a.endsWith("/postgres")));
    const names = [...others, "./handlers/product/approve"].map((name) => join("countersign", name));
    // On the edge host there is no Node.
    const inNode = names.filter((name) => !name.endsWith("hosts/edge"));
    const script = `for (const name of ${JSON.stringify(inNode)}) if (Object.keys(await import(name)).length === 0) throw new Error(name)`;
    await runIn(node, script);
    await expect(runIn(node, `await import("${join("countersign", optional!)}")`)).rejects.toThrow(/package 'pg'/);
  });

  testInNode("one handler answers over the memory store", async (node) => {
    const { code } = await transform(HANDLER_PROGRAM, { loader: "ts", format: "esm" });
    expect((await runIn(node, code)).stdout).toBe("404 change_not_found\n");
  });

  testInNode("the cases for stores run without a test framework", async (node) => {
    const { stdout } = await runIn(
      node,
      `import { runStoreCase, storeCases } from "countersign/testing";
      import { memoryStore } from "countersign/stores/memory";
      let passed = 0;
      for (const one of storeCases.filter(({ needs }) => !needs)) {
        await runStoreCase(one, async () => ({ store: memoryStore() }));
        passed++;
      }
      console.log(passed > 20);`,
    );
    expect(stdout).toBe("true\n");
  });

  testInNode("the server with its console, the command line and the verifier run", async (node) => {
    const program = (name: string) => join(installed, manifest.bin[name]!);
    const { stdout: version } = await run(node, [program("countersign"), "--version"]);
    expect(version).toMatch(/^\d+\.\d+\.\d+/);
    const intent = join(installed, "local/example/product_intent.json");
    const state = join(mkdtempSync(join(folder, "state-")), "state.json");
    const options = [`--product-intent=${intent}`, `--state=${state}`];
    const server = await serve(userFolder, options, {}, Promise.resolve(program("ui_server")), node);
    const { url } = server;
    expect(await (await fetch(url)).text()).toContain("<title>");
    expect((await fetch(`${url}/docs`)).status).toBe(200);
    const change = ["--tenant-id", "t1", "--kind", "config", "--target", "ui.banner", "--summary", "Show it"];
    const proposeCommand = [program("countersign"), "propose", ...change, "--url", url, "--json"];
    const { audit_entry } = JSON.parse((await run(node, proposeCommand)).stdout) as {
      audit_entry: { id: number; current_hash: string };
    };
    const plan = join(installed, "examples/plans/relaunch.yaml");
    expect((await run(node, [program("countersign"), "plan", plan, "--url", url])).stdout).toMatch(/^chg_/);
    const log = join(dirname(state), "audit.jsonl");
    writeFileSync(log, await (await fetch(`${url}/api/product/audit?format=jsonl`)).text());
    const receipt = ["--expected-length", `${audit_entry.id}`, "--expected-head", audit_entry.current_hash];
    expect((await run(node, [program("countersign-verify"), log, ...receipt])).stdout).not.toBe("");
  });
});
