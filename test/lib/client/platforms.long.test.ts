/** The client runs in a browser, in a Worker and in Node, and is small. */
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { killAll, serve, type Server, temporaryFolder } from "../../e2e/server.ts";
import { startBrowser, useWindows } from "../../ui/browser.ts";
import { makeCalls } from "./client_calls.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** Result of the calls on every platform. */
const RESULT = ["pending_consent", "illegal_transition", "approved", "Schönes 中文"];
/** Maximum size of the client with `openapi-fetch`, gzipped; docs/client.md states it. */
const MAX_GZIP_BYTES = 4500;

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
let server: Server;
beforeAll(async () => {
  const intent = join(ROOT, "local/example/product_intent.json");
  server = await serve(temporaryFolder(), [`--product-intent=${intent}`]);
});
afterAll(killAll);

async function bundle(contents: string, format: "esm" | "iife"): Promise<string> {
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

test("the calls succeed in Node", async () => expect(await makeCalls(server.url)).toEqual(RESULT));

test("the calls succeed in a Worker", async () => {
  const script = await bundle(
    `import { makeCalls } from "./test/lib/client/client_calls.ts";
     export default { fetch: async (_, { SERVICE }) => Response.json(await makeCalls(SERVICE)) };`,
    "esm",
  );
  const workerd = new Miniflare({ modules: true, script, bindings: { SERVICE: server.url } });
  onTestFinished(() => workerd.dispose());
  const response = await workerd.dispatchFetch("http://worker.example/");
  expect(await response.json()).toEqual(RESULT);
});

const browser = await startBrowser();
describe.skipIf(!browser)("in a browser the calls succeed", () => {
  const open = useWindows(browser);
  test("on a page of the service's own origin", async () => {
    const page = await open();
    await page.goto(server.url);
    const script = await bundle(
      `import { makeCalls } from "./test/lib/client/client_calls.ts"; globalThis.result = makeCalls(location.origin);`,
      "iife",
    );
    await page.evaluate(script);
    expect(await page.evaluate("result")).toEqual(RESULT);
  });
});

test("a bundle that does not use the client omits it, and the complete client is small", async () => {
  expect(await bundle(`import "./lib/client/client.ts";`, "esm")).toBe("");
  const all = await bundle(`export * from "./lib/client/client.ts";`, "esm");
  expect(gzipSync(all, { level: 9 }).length).toBeLessThan(MAX_GZIP_BYTES);
});
