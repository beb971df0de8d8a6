/** Bundles of the serverless hosts: one for each handler and host, with what it needs; `npm run build` checks their sizes. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test, vi } from "vitest";
// @ts-expect-error a build script without types
import * as building from "../esbuild.config.mjs";
import { endpoints } from "../handlers/index.ts";
import { GROUPS } from "../lib/hosts/lambda/groups.ts";
import { temporaryFolder } from "./e2e/server.ts";

interface Metafile {
  outputs: Record<
    string,
    {
      inputs: Record<string, { bytesInOutput: number }>;
      imports: { path: string; external?: boolean }[];
      exports: string[];
    }
  >;
}
interface Row {
  file: string;
  gzip: number;
}
const { BUDGETS, buildEdge, buildLambda, buildWorker, listHandlerFiles, measureBundles } = building as {
  BUDGETS: { pattern: RegExp; bytes: number }[];
  buildEdge(outdir: string): Promise<Metafile>;
  buildLambda(outdir: string, isWanted: undefined, finish: (text: string) => string): Promise<Metafile>;
  buildWorker(outfile: string): Promise<void>;
  listHandlerFiles(): Promise<string[]>;
  measureBundles(outdir: string): Promise<{ rows: Row[]; overBudget: Row[] }>;
};

const run = promisify(execFile);
const folder = temporaryFolder();
let files: string[];
let edge: Metafile;
let lambda: Metafile;
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
beforeAll(async () => {
  files = await listHandlerFiles();
  edge = await buildEdge(join(folder, "edge"));
  // Replacing arrow functions takes most of the time, and does not affect these tests.
  lambda = await buildLambda(join(folder, "lambda"), undefined, (text) => text);
  await buildWorker(join(folder, "edge/worker.js"));
});

/** Returns bundles by their name, without the folder of the build. */
const bundlesByName = ({ outputs }: Metafile, host: string): Map<string, Metafile["outputs"][string]> =>
  new Map(
    Object.entries(outputs).map(([path, output]) => [path.slice(path.indexOf(`/${host}/`) + host.length + 2), output]),
  );

/** Lists the bundles that contain code of files with this pattern. */
const listBundlesWith = (bundles: Map<string, Metafile["outputs"][string]>, pattern: RegExp): string[] =>
  [...bundles]
    .filter(([, { inputs }]) =>
      Object.entries(inputs).some(([input, { bytesInOutput }]) => bytesInOutput > 0 && pattern.test(input)),
    )
    .map(([name]) => name.replace(/(?:\/index)?\.m?js$/, ""))
    .sort();

describe("on the edge", () => {
  test("every handler has its own bundle, at the path of its file", () => {
    expect([...bundlesByName(edge, "edge").keys()].sort()).toEqual(files.map((file) => `${file}.js`).sort());
  });

  test("no bundle imports anything", () => {
    expect(Object.values(edge.outputs).flatMap(({ imports }) => imports)).toEqual([]);
  });

  test("every bundle exports its endpoint", async () => {
    const program = `const modules = await Promise.all(process.argv.slice(1).map((file) => import(file)));
      console.log(JSON.stringify(modules.flatMap((module) => Object.values(module).map(({ path }) => path))));`;
    const bundled = files.map((file) => join(folder, "edge", `${file}.js`));
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program, ...bundled]);
    const paths = JSON.parse(stdout) as string[];
    expect(paths.sort()).toEqual(endpoints.map(({ path }) => path).sort());
  });
});

describe("on Lambda", () => {
  test("there is a function for each handler, each group, the cycle and the console", () => {
    const functions = [...GROUPS, "cycle", "console"].map((name) => `functions/${name}`);
    const expected = [...files, ...functions].map((name) => `${name}/index.mjs`);
    expect([...bundlesByName(lambda, "lambda").keys()].sort()).toEqual(expected.sort());
    for (const [name, { exports }] of bundlesByName(lambda, "lambda")) expect(exports, name).toEqual(["handler"]);
  });

  test("no bundle imports anything, since modules of Node are loaded at their first use", () => {
    expect(Object.values(lambda.outputs).flatMap(({ imports }) => imports)).toEqual([]);
  });
});

test("the functions of decisions are ASCII, so that an engine stores one byte for each character", async () => {
  for (const name of ["propose", "approve", "deny", "apply", "rollback"]) {
    const text = await readFile(join(folder, "lambda", "product", name, "index.mjs"), "utf8");
    expect(text.match(/.{0,40}[^\u0000-\u007f]/su)?.[0], name).toBeUndefined();
  }
});

describe("code that few handlers need is only in their bundles", () => {
  const WITH_ALL_ENDPOINTS = ["docs", "openapi"];
  const IN_LAMBDA = [...WITH_ALL_ENDPOINTS, "functions/docs"];
  test("the description of the API", () => {
    const described = /^lib\/openapi\/document\.ts/;
    expect(listBundlesWith(bundlesByName(edge, "edge"), described)).toEqual(WITH_ALL_ENDPOINTS);
    expect(listBundlesWith(bundlesByName(lambda, "lambda"), described)).toEqual(IN_LAMBDA.sort());
  });

  test("the descriptions of fields", async () => {
    const listDescribed = async (bundles: Metafile, host: string) => {
      const names = [];
      for (const name of bundlesByName(bundles, host).keys())
        if (
          /\.(?:describe|meta)\("|description:"[^"]*",examples:/.test(await readFile(join(folder, host, name), "utf8"))
        )
          names.push(name.replace(/(?:\/index)?\.m?js$/, ""));
      return names.sort();
    };
    // MCP describes the arguments of its tools to agents.
    expect(await listDescribed(edge, "edge")).toEqual([...WITH_ALL_ENDPOINTS, "mcp"].sort());
    expect(await listDescribed(lambda, "lambda")).toEqual([...IN_LAMBDA, "functions/agent", "mcp"].sort());
  });

  test("the chat's rules, tools and prompts", () => {
    const chat = /^lib\/chat\/(?:rules|reply|tools|prompt|model_reply|phrases_\w+)\.ts/;
    expect(listBundlesWith(bundlesByName(edge, "edge"), chat)).toEqual(["chat", ...WITH_ALL_ENDPOINTS].sort());
    expect(listBundlesWith(bundlesByName(lambda, "lambda"), chat)).toEqual(
      ["chat", "functions/agent", ...IN_LAMBDA].sort(),
    );
  });

  test("the clients of language models", () => {
    const clients = /^lib\/llm\/(?:openai|anthropic)\.ts/;
    expect(listBundlesWith(bundlesByName(edge, "edge"), clients)).toEqual([]);
    const bundlesWithModels = ["action_run_now", "chat", "functions/agent", "functions/cycle"];
    expect(listBundlesWith(bundlesByName(lambda, "lambda"), clients)).toEqual(bundlesWithModels);
  });

  test("the registry of prom-client, which does not need Node, for metrics", () => {
    const client = /^node_modules\/prom-client\//;
    expect(listBundlesWith(bundlesByName(edge, "edge"), client)).toEqual(["metrics", ...WITH_ALL_ENDPOINTS].sort());
    expect(listBundlesWith(bundlesByName(lambda, "lambda"), client)).toEqual(
      ["metrics", "functions/read", ...IN_LAMBDA].sort(),
    );
    const otherFiles = /^node_modules\/prom-client\/(?!lib\/(?:registry|util)\.js$)/;
    expect([
      ...listBundlesWith(bundlesByName(edge, "edge"), otherFiles),
      ...listBundlesWith(bundlesByName(lambda, "lambda"), otherFiles),
    ]).toEqual([]);
  });

  test("no bundle of Lambda contains hashes in JavaScript, since Node has its own", () => {
    const hashFiles =
      /^node_modules\/@noble\/hashes\/(?!utils\.js)|^lib\/(?:link\/keys|store\/move\/export_format)\.ts/;
    expect(listBundlesWith(bundlesByName(lambda, "lambda"), hashFiles)).toEqual([]);
  });

  test("no bundle contains the store of another host, the local program or tests", () => {
    const foreign = /^(?:lib\/store\/(?:postgres|durable_object)|local\/|test\/|node_modules\/(?:pg|lowdb)\/)/;
    expect(listBundlesWith(bundlesByName(edge, "edge"), foreign)).toEqual([]);
    expect(listBundlesWith(bundlesByName(lambda, "lambda"), foreign)).toEqual([]);
  });
});

describe("budgets of bundles", () => {
  test("every bundle is measured", async () => {
    const { rows } = await measureBundles(folder);
    expect(rows.map(({ file }) => file)).toEqual(expect.arrayContaining(["edge/worker.js", "edge/product/approve.js"]));
    expect(rows).toHaveLength(Object.keys(edge.outputs).length + Object.keys(lambda.outputs).length + 1);
  });

  test.each([
    "edge/product/approve.js",
    "edge/product/change.js",
    "edge/worker.js",
    "lambda/product/approve/index.mjs",
    "lambda/product/change/index.mjs",
  ])("%s over its budget is reported", async (file) => {
    const budget = BUDGETS.find(({ pattern }) => pattern.test(file))!.bytes;
    const outdir = temporaryFolder();
    const write = (bytes: number) => {
      mkdirSync(join(outdir, file, ".."), { recursive: true });
      // Random bytes do not compress; gzip adds less than 1000 bytes to them.
      writeFileSync(join(outdir, file), randomBytes(bytes));
    };
    write(budget - 1000);
    expect((await measureBundles(outdir)).overBudget).toEqual([]);
    write(budget + 1);
    expect((await measureBundles(outdir)).overBudget.map((row) => row.file)).toEqual([file]);
  });
});
