/** Tests the program as a process: how it listens, what it prints, and how it ends. */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { join } from "node:path";
import { describe, expect } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { test, WITH_INTENT } from "./in_folder.ts";
import { launch, program, serve } from "./server.ts";

/** Starts the published build; `serve` starts a faster bundle of the same sources. */
const servePublished = (cwd: string, args: readonly string[] = [], env: Record<string, string> = {}) =>
  serve(cwd, args, env, program());

const post = (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(url, { method: "POST", body: new URLSearchParams(fields), headers });
const propose = (url: string) =>
  post(`${url}/api/product/propose-crm-followup`, { tenant_id: "t1", affected_users: "40", expected_delta_k: "12" });
const countChanges = async (url: string) =>
  ((await (await fetch(`${url}/api/product/runtime`)).json()) as { total: number }).total;

describe.concurrent("a start", () => {
  test("logs one JSON line with the url; standard error is only JSON, standard output empty", async ({ cwd }) => {
    const server = await servePublished(cwd, WITH_INTENT);
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await (await fetch(`${server.url}/livez`)).json()).toEqual({ status: "ok" });
    await propose(server.url);
    server.child.kill("SIGTERM");
    expect(await server.ended).toEqual({ code: 0, signal: null });
    for (const line of server.stderr) expect(JSON.parse(line)).toMatchObject({ message: expect.any(String) });
    expect(server.stdout).toEqual([]);
  });

  test("uses the last value of a repeated option, and the environment only without an option", async ({ cwd }) => {
    await serve(cwd, ["--state=a/s.json", "--state", "b/s.json"], { SVC_STATE: "c/s.json" });
    expect(["a", "b", "c"].map((folder) => existsSync(join(cwd, folder)))).toEqual([false, true, false]);
  });

  test("accepts every option of the specification", async ({ cwd }) => {
    const link = ["--cross-link-port=0", "--cross-link-secret=0123456789abcdef", "--cross-link-peers=127.0.0.1:1"];
    const llm = ["--llm=openai", "--llm-model=m", "--llm-key-env=NO_SUCH_KEY"];
    const ids = ["--svc-instance-id=i7", "--svc-node-id=n7", "--agent-id=a7"];
    const files = ["--state=s/state.json", "--ui-dir=missing", "--product-config=config.json"];
    const { url } = await serve(cwd, [...WITH_INTENT, ...link, ...llm, ...ids, ...files]);
    expect(await (await fetch(`${url}/api/product/identity`)).json()).toEqual({
      product_id: "acme-crm",
      instance_id: "i7",
      node_id: "n7",
      binding_mode: "one_product_one_svc",
    });
    const { capabilities } = (await (await fetch(`${url}/api/capabilities`)).json()) as {
      capabilities: { id: string; status: string; reason: string }[];
    };
    const reasons = Object.fromEntries(capabilities.map(({ id, status, reason }) => [id, `${status}: ${reason}`]));
    expect(reasons).toMatchObject({
      product_adapter: "available: null",
      llm: "disabled: the environment variable NO_SUCH_KEY is unset or empty",
      ui: "disabled: its folder cannot be read (ENOENT)",
    });
  });

  test("without a product intent answers the product endpoints with 503", async ({ cwd }) => {
    const { url } = await serve(cwd);
    const response = await fetch(`${url}/api/product/runtime`);
    expect([response.status, await response.json()]).toEqual([
      503,
      expect.objectContaining({ code: "product_runtime_disabled" }),
    ]);
  });

  test("suggests commands that propose, approve and apply a first change", async ({ cwd }) => {
    const server = await servePublished(cwd, [...WITH_INTENT, "--product-config=config.json"], {
      SVC_ADMIN_TOKEN: "t0ken",
    });
    const { commands } = (await server.logged("try next")) as unknown as { commands: string[] };
    const answers: Record<string, unknown>[] = [];
    for (const command of commands) {
      const id = String(answers[0]?.["change_id"]);
      answers.push(await curl(command.replace("CHANGE_ID", id).replace("$SVC_ADMIN_TOKEN", "t0ken")));
    }
    expect(answers.map(({ status }) => status)).toEqual(["pending_consent", "approved", "applied", undefined]);
    // The intent, the proposal, the approval and the apply.
    expect(answers[3]).toMatchObject({ valid: true, length: 4 });
    expect(JSON.parse(await readFile(join(cwd, "config.json"), "utf8"))).toMatchObject({ state: "applied" });
  });

  test("with existing changes suggests no commands", async ({ cwd }) => {
    const first = await serve(cwd, WITH_INTENT);
    await propose(first.url);
    first.child.kill("SIGTERM");
    await first.ended;
    const second = await serve(cwd, WITH_INTENT);
    second.child.kill("SIGTERM");
    await second.ended;
    expect(first.stderr.join()).toContain("try next");
    expect(second.stderr.join()).not.toContain("try next");
  });

  test("serves the user interface next to the API, with the same check of Host", async ({ cwd }) => {
    const { url } = await servePublished(cwd);
    const page = await fetch(url);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const missing = await fetch(`${url}/nothing.js`);
    expect([missing.status, await missing.json()]).toEqual([404, expect.objectContaining({ code: "not_found" })]);
    expect((await fetch(url, { method: "POST" })).status).toBe(404);
    for (const path of ["/", "/api/state"]) {
      const [response] = (await once(http.get(url + path, { headers: { host: "evil.example" } }), "response")) as [
        http.IncomingMessage,
      ];
      response.resume();
      expect(response.statusCode).toBe(403);
    }
  });
});

/** Sends the request of a suggested `curl` command, whose words are split at spaces. */
async function curl(command: string): Promise<Record<string, unknown>> {
  const words = command.split(" ");
  const valuesOf = (flag: string) => words.filter((_, index) => words[index - 1] === flag);
  const url = words.at(-1)!;
  const fields = Object.fromEntries(valuesOf("-d").map((pair) => pair.split("=") as [string, string]));
  const headers = Object.fromEntries(valuesOf("-H").map((header) => header.split(":") as [string, string]));
  const response = Object.keys(fields).length > 0 ? await post(url, fields, headers) : await fetch(url, { headers });
  return (await response.json()) as Record<string, unknown>;
}

test.concurrent("--help and --version write to standard output, with exit code 0", async ({ cwd }) => {
  const help = await launch(cwd, ["--help"], {}, program());
  expect(await help.ended).toEqual({ code: 0, signal: null });
  expect(help.stdout.join("\n")).toContain("--product-intent PATH");
  const version = await launch(cwd, ["--version"], {}, program());
  expect(await version.ended).toEqual({ code: 0, signal: null });
  expect([version.stdout, version.stderr]).toEqual([[packageJson.version], []]);
});

describe.concurrent("stopping", () => {
  const FORM = "tenant_id=t1&affected_users=40&expected_delta_k=12";
  /** Sends only the headers of a proposal, and waits until the server reads its body. */
  async function beginProposal(url: string) {
    const { port } = new URL(url);
    const socket = net.connect(Number(port), "127.0.0.1");
    const head = "POST /api/product/propose-crm-followup HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n";
    socket.write(`${head}Content-Length: ${FORM.length}\r\n\r\n`);
    const [interim] = (await once(socket, "data")) as [Buffer];
    expect(interim.toString()).toMatch(/^HTTP\/1.1 100 /);
    return socket;
  }

  test.for(["SIGTERM", "SIGINT"] as const)(
    "on %s completes an open request, stores its data, and exits with code 0",
    async (signal, { cwd }) => {
      const server = await serve(cwd, WITH_INTENT);
      const socket = await beginProposal(server.url);
      server.child.kill(signal);
      await server.logged("stopping");
      server.child.kill(signal); // npm forwards a signal that the terminal has sent too
      socket.write(FORM);
      const [answer] = (await once(socket, "data")) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1.1 201 [^]*connection: close\r\n/i);
      expect(await server.ended).toEqual({ code: 0, signal: null });
      expect(await countChanges((await serve(cwd, WITH_INTENT)).url)).toBe(1);
    },
  );

  test("ends immediately at a later second signal", async ({ cwd }) => {
    const server = await serve(cwd, WITH_INTENT);
    const socket = await beginProposal(server.url);
    socket.on("error", () => {});
    const repeat = setInterval(() => server.child.kill("SIGTERM"), 50);
    expect(await server.ended).toEqual({ code: 1, signal: null });
    clearInterval(repeat);
  });

  test("does not wait for an idle connection", async ({ cwd }) => {
    const server = await serve(cwd);
    const socket = net.connect(Number(new URL(server.url).port), "127.0.0.1");
    await once(socket, "connect");
    server.child.kill("SIGTERM");
    expect(await server.ended).toEqual({ code: 0, signal: null });
  });

  test("does not follow from a closed standard error", async ({ cwd }) => {
    const server = await serve(cwd, WITH_INTENT);
    server.child.stderr!.destroy();
    expect((await propose(server.url)).status).toBe(201);
    server.child.kill("SIGTERM");
    expect(await server.ended).toEqual({ code: 0, signal: null });
  });

  test("by SIGKILL loses no acknowledged data, and releases the state", async ({ cwd }) => {
    const first = await serve(cwd, WITH_INTENT);
    for (let i = 0; i < 5; i++) expect((await propose(first.url)).status).toBe(201);
    first.child.kill("SIGKILL");
    await first.ended;
    expect(await countChanges((await serve(cwd, WITH_INTENT)).url)).toBe(5);
  });

  test("after an uncaught error logs it, with exit code 1", async ({ cwd }) => {
    const hook = 'process.on("SIGUSR2", () => { throw new Error("boom") })';
    const server = await serve(cwd, [], { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` });
    server.child.kill("SIGUSR2");
    expect(await server.ended).toEqual({ code: 1, signal: null });
    expect(JSON.parse(server.stderr.at(-1)!)).toMatchObject({ level: "ERROR", error: { message: "boom" } });
  });
});

test.concurrent.for(["with its length", "in pieces"])(
  "a body over 64 KiB sent %s is answered 413",
  async (encoding, { cwd }) => {
    const { url } = await serve(cwd, WITH_INTENT);
    const body = Buffer.alloc(300_000, "a");
    const headers = encoding === "in pieces" ? { "transfer-encoding": "chunked" } : { "content-length": body.length };
    const request = http.request(`${url}/api/product/propose`, { method: "POST", headers });
    request.on("error", () => {}); // the connection may be closed before the end of the body
    request.end(body);
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(413);
  },
);
