/** Tests which files of the user interface are served, and with which headers. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sha256 } from "../../local/node_ports.ts";
import { staticFiles, type StaticFiles } from "../../local/static_files.ts";

/** Long enough to be sent compressed. */
const LONG_SCRIPT = "a();\n".repeat(500);
let base: string;
let serve: StaticFiles;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "static-files-"));
  const ui = join(base, "ui");
  await mkdir(join(ui, "assets"), { recursive: true });
  await mkdir(join(ui, ".git"));
  const files = {
    "index.html": "<h1>ü</h1>",
    "assets/a b.css": "a{}",
    "x.js": "1",
    "long.js": LONG_SCRIPT,
    "core-0123456789abcdef.js": "1",
    "y.svg": "<svg/>",
    data: "?",
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(ui, name), content);
  for (const name of [".env", ".git/config"]) await writeFile(join(ui, name), "hidden");
  await mkdir(join(base, "ui-next"));
  for (const name of ["secret.txt", "ui-next/index.html"]) await writeFile(join(base, name), "outside");
  await symlink(join(base, "secret.txt"), join(ui, "out.txt"));
  await symlink(join(base, "ui-next"), join(ui, "next"));
  await symlink("x.js", join(ui, "in.js"));
  await symlink("loop", join(ui, "loop"));
  execFileSync("mkfifo", [join(ui, "pipe")]);
  serve = await staticFiles(ui, sha256);
});
afterAll(() => rm(base, { recursive: true }));

/** Requests a path unchanged, as a client may send it; a URL object would resolve its dots. */
const get = (path: string, init: RequestInit = {}) => {
  const request = new Request("http://localhost/", init);
  Object.defineProperty(request, "url", { value: `http://localhost${path}` });
  return serve(request);
};

test.each([
  ["/", "text/html; charset=utf-8", "<h1>ü</h1>"],
  ["/index.html?x=1", "text/html; charset=utf-8", "<h1>ü</h1>"],
  ["/assets/a%20b.css", "text/css; charset=utf-8", "a{}"],
  ["/x.js", "text/javascript; charset=utf-8", "1"],
  ["/in.js", "text/javascript; charset=utf-8", "1"],
  ["/y.svg", "image/svg+xml", "<svg/>"],
  ["/data", "application/octet-stream", "?"],
])("%s is served as %s", async (path, type, content) => {
  const response = (await get(path))!;
  expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([200, type, content]);
  expect(response.headers.get("content-length")).toBe(String(Buffer.byteLength(content)));
});

test("every response forbids sniffing, framing, inline and foreign scripts, and cross-origin use", async () => {
  const headers = (await get("/"))!.headers;
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
  expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
  expect(headers.get("content-security-policy")).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
      "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  );
});

test("HEAD has the headers and no body", async () => {
  const response = (await get("/", { method: "HEAD" }))!;
  expect([response.headers.get("content-length"), await response.text()]).toEqual(["11", ""]);
});

test("a request with the current ETag gets 304 without a body, until the file changes", async () => {
  const etag = (await get("/x.js"))!.headers.get("etag")!;
  for (const header of [etag, `"other", W/${etag}`, "*"]) {
    const response = (await get("/x.js", { headers: { "if-none-match": header } }))!;
    expect([response.status, response.headers.get("etag"), await response.text()]).toEqual([304, etag, ""]);
  }
  await writeFile(join(base, "ui", "x.js"), "2");
  const changed = (await get("/x.js", { headers: { "if-none-match": etag } }))!;
  expect([changed.status, await changed.text()]).toEqual([200, "2"]);
});

test.each([
  "/../secret.txt",
  "/%2e%2e/secret.txt",
  "/..%2fsecret.txt",
  "/assets/../../secret.txt",
  "/..\\secret.txt",
  "/%5c..%5csecret.txt",
  "//etc/passwd",
  "/x.js%00.html",
  "/%",
  "/.env",
  "/.git/config",
  "/assets",
  "/assets/",
  "/index.html/",
  "/index.html/x",
  "/out.txt",
  "/next/index.html",
  "/loop",
  "/pipe",
  "/missing",
  `/${"a".repeat(300)}`,
])("%s is not served", async (path) => {
  expect(await get(path)).toBeUndefined();
});

test("methods other than GET and HEAD are rejected", async () => {
  expect(await get("/", { method: "POST" })).toBeUndefined();
});

test("a path that is not a folder is rejected at the start", async () => {
  await expect(staticFiles(join(base, "none"), sha256)).rejects.toMatchObject({ code: "ENOENT" });
  await expect(staticFiles(join(base, "secret.txt"), sha256)).rejects.toMatchObject({ code: "ENOTDIR" });
});

test.each([
  ["br, gzip", "br"],
  ["gzip, deflate", "gzip"],
  ["br;q=0, gzip;q=0.5", "gzip"],
  ["identity", null],
])("with accept-encoding %s a script is sent as %s", async (accepted, encoding) => {
  const init = { headers: { "accept-encoding": accepted } };
  const response = (await get("/long.js", init))!;
  expect([response.headers.get("content-encoding"), response.headers.get("vary")]).toEqual([
    encoding,
    "accept-encoding",
  ]);
  const body = Buffer.from(await response.arrayBuffer());
  expect(response.headers.get("content-length")).toBe(String(body.length));
  const decoded = encoding === "br" ? brotliDecompressSync(body) : encoding === "gzip" ? gunzipSync(body) : body;
  expect(decoded.toString()).toBe(LONG_SCRIPT);
  const repeated = await get("/long.js", {
    headers: { ...init.headers, "if-none-match": response.headers.get("etag")! },
  });
  expect([repeated!.status, repeated!.headers.get("etag")]).toEqual([304, response.headers.get("etag")]);
});

test("a file with a hash in its name is cached for a year, other files are revalidated", async () => {
  const readCacheControl = async (path: string) => (await get(path))!.headers.get("cache-control");
  expect(await readCacheControl("/core-0123456789abcdef.js")).toBe("public, max-age=31536000, immutable");
  for (const path of ["/", "/x.js", "/long.js"]) expect(await readCacheControl(path)).toBe("no-cache");
});
