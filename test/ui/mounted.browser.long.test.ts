/** The console of a service that is mounted in another application, below a path and behind its log-in. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { Hono } from "hono";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { countersign } from "../../handlers/index.ts";
import type { Handler } from "../../lib/http/endpoint.ts";
import { CONSOLE_HEADERS } from "../../lib/http/console_headers.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { program } from "../e2e/server.ts";
import { client } from "../support/client.ts";
import { BASE, onNode } from "../support/host_apps.ts";
import { manifest } from "../support/intents.ts";
import { button, freshness, startBrowser, useWindows } from "./browser.ts";

const browser = await startBrowser();

/** Exports of the package that the tests use. */
type Console = { withConsole(service: Handler, options: { base: string }): Handler };
let withConsole: Console["withConsole"];
beforeAll(async () => {
  ({ withConsole } = (await import(join(dirname(await program()), "console.js"))) as Console);
});

const readSession = (cookie: string | null | undefined): string | undefined =>
  /\bsession=(\w+)/.exec(cookie ?? "")?.[1];

/** Starts an application with a page of its own and a log-in by cookie. */
async function startCrm() {
  const service = await countersign({
    store: memoryStore(),
    intent: manifest(),
    base: BASE,
    person: (request) => readSession(request.headers.get("cookie")),
  });
  const governance = withConsole(service.fetch, { base: BASE });
  const host = new Hono();
  host.use(async (c, next) => (readSession(c.req.header("cookie")) ? next() : c.text("log in first", 401)));
  host.get("/", (c) => c.text("the CRM"));
  host.all(`${BASE}/*`, (c) => governance(c.req.raw));
  const server = createServer(onNode(async (request) => host.fetch(request))).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await service.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clientOf = (session: string) =>
    client((request) => {
      request.headers.set("cookie", `session=${session}`);
      return fetch(request);
    }, `${origin}${BASE}`);
  return { origin, clientOf };
}

test("the host's log-in protects the console, and paths outside the base stay the host's", async () => {
  const { origin, clientOf } = await startCrm();
  expect((await fetch(`${origin}${BASE}/`)).status).toBe(401);
  const { get } = clientOf("ana");
  const page = await get("/");
  expect(page.text).toContain('<meta name="countersign-api" content="./" />');
  expect(Object.fromEntries(page.headers)).toMatchObject(CONSOLE_HEADERS);
  expect((await get("/api/state")).status).toBe(200);
  expect(await get("/nothing.js")).toMatchObject({ status: 404, body: { code: "not_found" } });
  const outside = await fetch(`${origin}/app.js`, { headers: { cookie: "session=ana" } });
  expect([outside.status, outside.headers.get("content-security-policy")]).toEqual([404, null]);
});

describe.skipIf(!browser)("in a browser", () => {
  const open = useWindows(browser);

  test("a user who is logged in to the host decides under that name and without a token", async () => {
    const { origin, clientOf } = await startCrm();
    const { change_id } = await clientOf("bo").propose({ target: "limits.uploads", summary: "Raise the limit" });
    const page = await open();
    await page.context().addCookies([{ name: "session", value: "ana", url: origin }]);
    const failed: string[] = [];
    page.on("response", (answer) => answer.status() >= 400 && failed.push(`${answer.status()} ${answer.url()}`));
    await page.goto(`${origin}${BASE}`);
    await page.getByRole("link", { name: "Raise the limit" }).first().click();
    expect(page.url()).toBe(`${origin}${BASE}/#/changes/${change_id}`);
    await button(page, "Approve…").click();
    await button(page, "Approve as ana").click();
    await page.locator(".change-head .mark").getByText("Approved, not applied").waitFor();
    await freshness(page, "Live").waitFor();
    expect(await clientOf("bo").change(change_id)).toMatchObject({ status: "approved", approver: "ana" });
    expect(failed).toEqual([]);
  });
});
