/** The client runs in a browser, in a Worker and in Node, and is small. */
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { killAll, serve, type Server, temporaryFolder } from "../../e2e/server.ts";
import { startBrowser, useWindows } from "../../ui/browser.ts";
import { story } from "./story.ts";

const ROOT = join(import.meta.dirname, "../../..");
const REPORTED = ["pending_consent", "illegal_transition", "approved", "Schönes 中文"];
/** Gzipped, with `openapi-fetch`. README of the client names it. */
const BUDGET = 4500;

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
let server: Server;
beforeAll(async () => {
  const intent = join(ROOT, "local/example/product_intent.json");
  server = await serve(temporaryFolder(), [`--product-intent=${intent}`]);
});
afterAll(killAll);

async function bundled(contents: string, format: "esm" | "iife"): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: ROOT, loader: "ts" },
    bundle: true,
    minify: true,
    write: false,
    format,
    platform: "neutral",
    mainFields: ["module", "main"],
    logLevel: "warning",
  });
  return outputFiles[0]!.text;
}

test("in Node", async () => expect(await story(server.url)).toEqual(REPORTED));

test("in a Worker", async () => {
  const script = await bundled(
    `import { story } from "./test/lib/client/story.ts";
     export default { fetch: async (_, { SERVICE }) => Response.json(await story(SERVICE)) };`,
    "esm",
  );
  const workerd = new Miniflare({ modules: true, script, bindings: { SERVICE: server.url } });
  onTestFinished(() => workerd.dispose());
  const response = await workerd.dispatchFetch("http://worker.example/");
  expect(await response.json()).toEqual(REPORTED);
});

const browser = await startBrowser();
describe.skipIf(!browser)("in a browser", () => {
  const open = useWindows(browser);
  test("on a page of the service's own origin", async () => {
    const page = await open();
    await page.goto(server.url);
    const script = await bundled(
      `import { story } from "./test/lib/client/story.ts"; globalThis.reported = story(location.origin);`,
      "iife",
    );
    await page.evaluate(script);
    expect(await page.evaluate("reported")).toEqual(REPORTED);
  });
});

test("nothing is left of it where nothing of it is used, and it is small where all is", async () => {
  expect(await bundled(`import "./lib/client/client.ts";`, "esm")).toBe("");
  const all = await bundled(`export * from "./lib/client/client.ts";`, "esm");
  expect(gzipSync(all, { level: 9 }).length).toBeLessThan(BUDGET);
});
