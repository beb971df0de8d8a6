/** Tests the description of the API as JSON and as a page, also with hostile texts in a declaration. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import * as z from "zod";
import { docs } from "../../handlers/docs.ts";
import { openapi } from "../../handlers/openapi.ts";
import { endpoint } from "../../lib/http/endpoint.ts";
import { answer } from "../../lib/http/answer.ts";
import { version } from "../../lib/kit/version.ts";
import { endpoints } from "../../handlers/index.ts";
import { openDeps } from "../support/deps.ts";
import { get } from "../support/requests.ts";

const hostile = endpoint(
  {
    method: "GET",
    path: "/api/thing",
    operation: "getThing",
    summary: "<script>alert(1)</script>",
    description: "<script>alert(2)</script>",
    example: { '"><img src=x>': "</code><b>" },
    input: z.object({ '"><img src=x>': z.enum(["</code><b>"]).optional() }),
    output: z.object({ "<i>": z.string() }),
  },
  async () => answer({}),
);

test("GET /openapi.json describes every endpoint of the service, itself included", async () => {
  const deps = await openDeps({ intent: { kpis: { churn: { baseline: 1, target: 0 } } } });
  const response = await openapi(() => endpoints)(deps)(get("/openapi.json"));
  expect(response.status).toBe(200);
  const document = await response.json();
  expect(document.openapi).toMatch(/^3\.1\./);
  expect(document.info.version).toBe(version);
  const paths = endpoints.map(({ path }) => path.replace(/:([a-z_]+)/g, "{$1}"));
  expect(paths).toContain("/openapi.json");
  expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(paths));
  expect(JSON.stringify(document.components.schemas.FeedKpis)).toContain("churn");
});

test("both pages work without an intent", async () => {
  const deps = await openDeps({ intent: null });
  expect((await openapi(() => endpoints)(deps)(get("/openapi.json"))).status).toBe(200);
  expect((await docs(() => endpoints)(deps)(get("/docs"))).status).toBe(200);
});

test("GET /docs has no scripts, loads nothing, and its CSP allows only its own style", async () => {
  const deps = await openDeps();
  const response = await docs(() => endpoints)(deps)(get("/docs"));
  const html = await response.text();
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const policy = response.headers.get("content-security-policy")!;
  const [, style] = /<style>(.*?)<\/style>/s.exec(html)!;
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain(`style-src 'sha256-${createHash("sha256").update(style!).digest("base64")}'`);
  expect(policy).not.toContain("unsafe");
  expect(policy).not.toContain("script-src");
  expect(html).not.toMatch(/<script|\son\w+=|\sstyle=|https?:\/\//i);
  for (const [, anchor] of html.matchAll(/href="#([^"]*)"/g)) expect(html, anchor).toContain(` id="${anchor}"`);
  for (const { path } of endpoints) expect(html.replaceAll("<wbr>", "")).toContain(path.replace(/:([a-z_]+)/g, "{$1}"));
});

test("texts of a declaration are escaped on the page", async () => {
  const deps = await openDeps();
  const html = await (await docs(() => [hostile])(deps)(get("/docs"))).text();
  expect(html).not.toMatch(/<script>|<img|<b>|<i>/);
  expect(html).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
});
