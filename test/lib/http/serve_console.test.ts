/** The console's files are served below a base path; all other requests go to the API. */
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { CONSOLE_HEADERS } from "../../../lib/http/console_headers.ts";
import { serveConsole, unpackConsole } from "../../../lib/http/serve_console.ts";

const FILES = {
  "index.html": { text: "<!doctype html>", etag: '"1"' },
  "app.js": { text: "run()", etag: '"2"' },
  "chunks/a-B1.js": { text: "é", etag: '"3"' },
  "chunks/core-0123456789abcdef.js": { text: "1", etag: '"4"' },
};

test("the files are unpacked from their compressed form", async () => {
  const packed = gzipSync(JSON.stringify(FILES)).toString("base64");
  expect(await unpackConsole(packed)).toEqual(FILES);
});

describe.each(["", "/governance"])("the console below %j", (base) => {
  const handler = serveConsole(
    async () => FILES,
    async () => new Response("response of the API"),
    { base },
  );
  const send = (path: string, init?: RequestInit) => handler(new Request(`https://crm.example${path}`, init));

  test.each([
    ["/", "text/html; charset=utf-8", "<!doctype html>"],
    ["/index.html", "text/html; charset=utf-8", "<!doctype html>"],
    ["/app.js?v=1", "text/javascript; charset=utf-8", "run()"],
    ["/chunks/a-B1.js", "text/javascript; charset=utf-8", "é"],
  ])("%s is served with security headers", async (path, type, text) => {
    const answer = await send(base + path);
    expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([200, type, text]);
    expect(Object.fromEntries(answer.headers)).toMatchObject(CONSOLE_HEADERS);
  });

  test("a file with a build hash in its name is cached for a year", async () => {
    const answer = await send(`${base}/chunks/core-0123456789abcdef.js`);
    expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  });

  test("a file that the browser has cached is 304, and the response to HEAD has no body", async () => {
    for (const tag of ['"2"', 'W/"2"', '"9", "2"']) {
      const notModified = await send(`${base}/app.js`, { headers: { "if-none-match": tag } });
      expect([notModified.status, notModified.headers.get("etag"), await notModified.text()]).toEqual([304, '"2"', ""]);
      expect(Object.fromEntries(notModified.headers)).toMatchObject(CONSOLE_HEADERS);
    }
    const head = await send(`${base}/app.js`, { method: "HEAD" });
    expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, '"2"', ""]);
  });

  test.each(["/api/state", "/nothing.js", "/chunks", "/toString", "/__proto__", "/app.js/", "/chunks%2Fa-B1.js"])(
    "%s is passed to the API",
    async (path) => expect(await (await send(base + path)).text()).toBe("response of the API"),
  );

  test("writes to a file and paths outside the base are passed to the API", async () => {
    expect(await (await send(`${base}/`, { method: "POST" })).text()).toBe("response of the API");
    if (base)
      for (const path of ["/", "/app.js", `${base}x/`])
        expect(await (await send(path)).text()).toBe("response of the API");
  });

  test.skipIf(base === "")("the base without a slash redirects to the page, whose links are relative", async () => {
    const answer = await send(base);
    expect([answer.status, answer.headers.get("location")]).toEqual([308, `${base}/`]);
  });
});
