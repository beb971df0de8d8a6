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
const { BUDGETS, buildEdge, buildLambda, buildWorker, handlerFiles, sizes } = building as {
  BUDGETS: { of: RegExp; bytes: number }[];
  buildEdge(outdir: string): Promise<Metafile>;
  buildLambda(outdir: string, wanted: undefined, finish: (text: string) => string): Promise<Metafile>;
  buildWorker(outfile: string): Promise<void>;
  handlerFiles(): Promise<string[]>;
  sizes(outdir: string): Promise<{ rows: Row[]; over: Row[] }>;
};

const run = promisify(execFile);
const folder = temporaryFolder();
let files: string[];
let edge: Metafile;
let lambda: Metafile;
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
beforeAll(async () => {
  files = await handlerFiles();
  edge = await buildEdge(join(folder, "edge"));
  // Rewriting arrow functions takes most of the time, and changes nothing that is tested here.
  lambda = await buildLambda(join(folder, "lambda"), undefined, (text) => text);
  await buildWorker(join(folder, "edge/worker.js"));
});

/** Bundles by their name, without the folder of the build. */
const named = ({ outputs }: Metafile, host: string): Map<string, Metafile["outputs"][string]> =>
  new Map(
    Object.entries(outputs).map(([path, output]) => [path.slice(path.indexOf(`/${host}/`) + host.length + 2), output]),
  );

/** The bundles in which there is something of these files. */
const holding = (bundles: Map<string, Metafile["outputs"][string]>, of: RegExp): string[] =>
  [...bundles]
    .filter(([, { inputs }]) =>
      Object.entries(inputs).some(([input, { bytesInOutput }]) => bytesInOutput > 0 && of.test(input)),
    )
    .map(([name]) => name.replace(/(?:\/index)?\.m?js$/, ""))
    .sort();

describe("on the edge", () => {
  test("every handler is a bundle of its own, at the path it has here", () => {
    expect([...named(edge, "edge").keys()].sort()).toEqual(files.map((file) => `${file}.js`).sort());
  });

  test("none imports anything, of Node or of anybody", () => {
    expect(Object.values(edge.outputs).flatMap(({ imports }) => imports)).toEqual([]);
  });

  test("each exports its endpoint, which can be mounted", async () => {
    const program = `const modules = await Promise.all(process.argv.slice(1).map((file) => import(file)));
      console.log(JSON.stringify(modules.flatMap((module) => Object.values(module).map(({ path }) => path))));`;
    const bundled = files.map((file) => join(folder, "edge", `${file}.js`));
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program, ...bundled]);
    const paths = JSON.parse(stdout) as string[];
    expect(paths.sort()).toEqual(endpoints.map(({ path }) => path).sort());
  });
});

describe("on Lambda", () => {
  test("every handler is a function of its own, next to the groups, the cycle and the console", () => {
    const functions = [...GROUPS, "cycle", "console"].map((name) => `functions/${name}`);
    const expected = [...files, ...functions].map((name) => `${name}/index.mjs`);
    expect([...named(lambda, "lambda").keys()].sort()).toEqual(expected.sort());
    for (const [name, { exports }] of named(lambda, "lambda")) expect(exports, name).toEqual(["handler"]);
  });

  test("nothing is imported next to the bundle; what Node has is loaded when it is used", () => {
    expect(Object.values(lambda.outputs).flatMap(({ imports }) => imports)).toEqual([]);
  });
});

test("a governing function is ASCII, which costs a cold engine one byte for each character", async () => {
  for (const name of ["propose", "approve", "deny", "apply", "rollback"]) {
    const text = await readFile(join(folder, "lambda", "product", name, "index.mjs"), "utf8");
    expect(text.match(/.{0,40}[^\u0000-\u007f]/su)?.[0], name).toBeUndefined();
  }
});

describe("large parts that few handlers need are in those alone", () => {
  const WHOLE = ["docs", "openapi"];
  const IN_LAMBDA = [...WHOLE, "functions/docs"];
  test("the description of the API", () => {
    const described = /^lib\/openapi\/document\.ts/;
    expect(holding(named(edge, "edge"), described)).toEqual(WHOLE);
    expect(holding(named(lambda, "lambda"), described)).toEqual(IN_LAMBDA.sort());
  });

  test("the descriptions of fields", async () => {
    const described = async (bundles: Metafile, host: string) => {
      const found = [];
      for (const name of named(bundles, host).keys())
        if (
          /\.(?:describe|meta)\("|description:"[^"]*",examples:/.test(await readFile(join(folder, host, name), "utf8"))
        )
          found.push(name.replace(/(?:\/index)?\.m?js$/, ""));
      return found.sort();
    };
    // MCP tells agents what its tools take.
    expect(await described(edge, "edge")).toEqual([...WHOLE, "mcp"].sort());
    expect(await described(lambda, "lambda")).toEqual([...IN_LAMBDA, "functions/agent", "mcp"].sort());
  });

  test("the chat's rules, tools and prompts", () => {
    const chat = /^lib\/chat\/(?:rules|reply|tools|prompt|model_reply|phrases_\w+)\.ts/;
    expect(holding(named(edge, "edge"), chat)).toEqual(["chat", ...WHOLE].sort());
    expect(holding(named(lambda, "lambda"), chat)).toEqual(["chat", "functions/agent", ...IN_LAMBDA].sort());
  });

  test("the clients of language models", () => {
    const clients = /^lib\/llm\/(?:openai|anthropic)\.ts/;
    expect(holding(named(edge, "edge"), clients)).toEqual([]);
    const asking = ["action_run_now", "chat", "functions/agent", "functions/cycle"];
    expect(holding(named(lambda, "lambda"), clients)).toEqual(asking);
  });

  test("of the client of Prometheus the registry, which needs no Node, where metrics are shown", () => {
    const client = /^node_modules\/prom-client\//;
    expect(holding(named(edge, "edge"), client)).toEqual(["metrics", ...WHOLE].sort());
    expect(holding(named(lambda, "lambda"), client)).toEqual(["metrics", "functions/read", ...IN_LAMBDA].sort());
    const beyond = /^node_modules\/prom-client\/(?!lib\/(?:registry|util)\.js$)/;
    expect([...holding(named(edge, "edge"), beyond), ...holding(named(lambda, "lambda"), beyond)]).toEqual([]);
  });

  test("no bundle that Lambda's Node hashes serve contains hashes in script", () => {
    const more = /^node_modules\/@noble\/hashes\/(?!utils\.js)|^lib\/(?:link\/keys|store\/move\/export_format)\.ts/;
    expect(holding(named(lambda, "lambda"), more)).toEqual([]);
  });

  test("a store of another host, the local program, the tests", () => {
    const foreign = /^(?:lib\/store\/(?:postgres|durable_object)|local\/|test\/|node_modules\/(?:pg|lowdb)\/)/;
    expect(holding(named(edge, "edge"), foreign)).toEqual([]);
    expect(holding(named(lambda, "lambda"), foreign)).toEqual([]);
  });
});

describe("sizes", () => {
  test("every bundle is measured", async () => {
    const { rows } = await sizes(folder);
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
    const budget = BUDGETS.find(({ of }) => of.test(file))!.bytes;
    const outdir = temporaryFolder();
    const write = (bytes: number) => {
      mkdirSync(join(outdir, file, ".."), { recursive: true });
      writeFileSync(join(outdir, file), randomBytes(bytes));
    };
    write(budget - 1000);
    expect((await sizes(outdir)).over).toEqual([]);
    write(budget + 1);
    expect((await sizes(outdir)).over.map((row) => row.file)).toEqual([file]);
  });
});
