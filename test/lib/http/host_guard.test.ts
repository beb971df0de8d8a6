/** Accepted and rejected `Host` headers. */
import { expect, test } from "vitest";
import { createDeps } from "../../../lib/deps.ts";
import { createHostGuard } from "../../../lib/http/host_guard.ts";
import { memoryStore } from "../../../lib/store/memory.ts";

const deps = createDeps({ store: memoryStore(), allowedHosts: ["gov.example"] });
const guarded = createHostGuard(deps)(async () => new Response("inside"));

function sendWithHost(host: string | undefined, url = "http://somewhere.example/api/state") {
  const request = new Request(url);
  const headers = new Headers(host === undefined ? {} : { host });
  return guarded(Object.defineProperty(request, "headers", { value: headers }));
}

test.each([
  "localhost",
  "localhost:8420",
  "LocalHost:1",
  "localhost.",
  "127.0.0.1",
  "127.0.0.1:8420",
  "127.8.9.1:65535",
  "[::1]",
  "[::1]:8420",
  "[0:0:0:0:0:0:0:1]:8420",
  "10.1.2.3",
  "192.168.0.7:80",
  "[2001:db8::7]:8420",
  "gov.example",
  "Gov.Example:8443",
  "gov.example.",
])("Host %s is allowed", async (host) => {
  expect(await (await sendWithHost(host)).text()).toBe("inside");
});

test.each([
  "evil.example",
  "evil.example:8420",
  "gov.example.evil.example",
  "xgov.example",
  "localhost.evil.example",
  "evil.localhost",
  "127.0.0.1.evil.example",
  "evil.example@127.0.0.1",
  "evil.example/127.0.0.1",
  "evil.example?127.0.0.1",
  "127.0.0.1, evil.example",
  "127.0.0.1:99999",
  "127.0.0.1:x",
  "[::1",
  "[evil.example]",
  "999.1.1.1",
  "",
])("Host %j is rejected", async (host) => {
  const response = await sendWithHost(host);
  expect([response.status, await response.json()]).toEqual([
    403,
    {
      error: expect.stringContaining("--allowed-hosts"),
      code: "host_not_allowed",
      status: 403,
      request_id: expect.any(String),
    },
  ]);
});

test("a request with an allowed name does not allow the name of the next request", async () => {
  expect((await sendWithHost("127.0.0.1")).status).toBe(200);
  expect((await sendWithHost("evil.example")).status).toBe(403);
  expect((await sendWithHost("127.0.0.1")).status).toBe(200);
});

test("without the header the host of the URL is verified", async () => {
  expect((await sendWithHost(undefined)).status).toBe(403);
  expect((await sendWithHost(undefined, "http://127.0.0.1:1/")).status).toBe(200);
});
