import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { killAll, launch, serve, temporaryFolder } from "./server.ts";

const INTENT = { product_id: "acme-crm", version: "1", approved_by: "ana", update_epoch: 1 };

let cwd: string;
beforeEach(async () => {
  cwd = temporaryFolder();
  await intent("intent.json");
});
afterEach(killAll);

const intent = (name: string, changes: object = {}) =>
  writeFile(join(cwd, name), JSON.stringify({ ...INTENT, ...changes }));
const WITH_INTENT = ["--product-intent", "intent.json"];

const post = (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(url, { method: "POST", body: new URLSearchParams(fields), headers });
const propose = (url: string) =>
  post(`${url}/api/product/propose-crm-followup`, { tenant_id: "t1", affected_users: "40", expected_delta_k: "12" });
const total = async (url: string) =>
  ((await (await fetch(`${url}/api/product/runtime`)).json()) as { total: number }).total;

describe("listening", () => {
  test("is one JSON log line with the url; each line of standard error is JSON, standard output stays empty", async () => {
    const server = await serve(cwd, WITH_INTENT);
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await (await fetch(`${server.url}/livez`)).json()).toEqual({ status: "ok" });
    await propose(server.url);
    server.child.kill("SIGTERM");
    expect(await server.ended).toEqual({ code: 0, signal: null });
    for (const line of server.stderr) expect(JSON.parse(line)).toMatchObject({ message: expect.any(String) });
    expect(server.stdout).toEqual([]);
  });

  test("of a repeated option the last counts, and the environment only where there is no flag", async () => {
    const server = await serve(cwd, ["--state=a/s.json", "--state", "b/s.json"], {
      SVC_STATE: "c/s.json",
      SVC_AGENT_ID: "n7",
    });
    expect(["a", "b", "c"].map((folder) => existsSync(join(cwd, folder)))).toEqual([false, true, false]);
    expect(server.url).not.toContain(":8420");
  });

  test("every option of the specification lets it start", async () => {
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

  test("without a product intent the product endpoints answer 503", async () => {
    const { url } = await serve(cwd);
    const response = await fetch(`${url}/api/product/runtime`);
    expect([response.status, await response.json()]).toEqual([
      503,
      expect.objectContaining({ code: "product_runtime_disabled" }),
    ]);
  });

  test("the commands it suggests take a first change all the way", async () => {
    const server = await serve(cwd, [...WITH_INTENT, "--product-config=config.json"], { SVC_ADMIN_TOKEN: "t0ken" });
    const { commands } = (await server.logged("try next")) as unknown as { commands: string[] };
    const answers: Record<string, unknown>[] = [];
    for (const command of commands) {
      const id = String(answers[0]?.["change_id"]);
      answers.push(await curl(command.replace("CHANGE_ID", id).replace("$SVC_ADMIN_TOKEN", "t0ken")));
    }
    expect(answers.map(({ status }) => status)).toEqual(["pending_consent", "approved", "applied", undefined]);
    expect(answers[3]).toMatchObject({ valid: true, length: 3 });
    expect(JSON.parse(await readFile(join(cwd, "config.json"), "utf8"))).toMatchObject({ state: "applied" });
  });

  test("with changes it suggests none", async () => {
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

  test("the user interface is served beside the API, under the same guard", async () => {
    const { url } = await serve(cwd);
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

/** Runs a suggested command as the shell would split it. */
async function curl(command: string): Promise<Record<string, unknown>> {
  const words = command.split(" ");
  const after = (flag: string) => words.filter((_, index) => words[index - 1] === flag);
  const url = words.at(-1)!;
  const fields = Object.fromEntries(after("-d").map((pair) => pair.split("=") as [string, string]));
  const headers = Object.fromEntries(after("-H").map((header) => header.split(":") as [string, string]));
  const response = Object.keys(fields).length > 0 ? await post(url, fields, headers) : await fetch(url, { headers });
  return (await response.json()) as Record<string, unknown>;
}

test("--help and --version write to standard output, with exit code 0", async () => {
  const help = await launch(cwd, ["--help"]);
  expect(await help.ended).toEqual({ code: 0, signal: null });
  expect(help.stdout.join("\n")).toContain("--product-intent PATH");
  const version = await launch(cwd, ["--version"]);
  expect(await version.ended).toEqual({ code: 0, signal: null });
  expect([version.stdout, version.stderr]).toEqual([[packageJson.version], []]);
});

describe("a refused start is one line on standard error:", () => {
  async function refused(args: string[], env: Record<string, string> = {}) {
    const { stdout, stderr, ended } = await launch(cwd, args, env);
    const { code } = await ended;
    expect(stdout).toEqual([]);
    return { code, told: stderr.filter((line) => !line.startsWith("{")) };
  }

  test.each([
    [2, ["--colour"], "ui_server: unknown option --colour; see --help"],
    [2, ["--port=x"], 'ui_server: --port must be a whole number from 0 to 65535, not "x"'],
    [
      1,
      ["--host=0.0.0.0"],
      "ui_server: --host 0.0.0.0 is not a loopback address: set SVC_ADMIN_TOKEN, or listen on 127.0.0.1",
    ],
    [
      1,
      ["--cross-link-port=0"],
      "ui_server: --cross-link-port needs a secret: set SVC_CROSS_LINK_SECRET, or give --cross-link-secret",
    ],
    [1, ["--product-intent=none.json"], /^ui_server: --product-intent none\.json: ENOENT: no such file/],
    [1, ["--port=0", "--host=203.0.113.7"], "ui_server: --host 203.0.113.7: this machine has no such address"],
  ])("exit code %i for %j", async (code, args, told) => {
    const refusal = await refused(args, { SVC_ADMIN_TOKEN: args.includes("--port=0") ? "t" : "" });
    expect(refusal).toEqual({ code, told: [typeof told === "string" ? told : expect.stringMatching(told)] });
  });

  test.each([
    ["product_id", { product_id: "" }],
    ["version", { version: " " }],
    ["approved_by", { approved_by: 7 }],
    ["update_epoch", { update_epoch: 0 }],
  ])("an intent with a bad %s names file, field and rule, and leaves no files behind", async (field, change) => {
    await intent("bad.json", change);
    const { code, told } = await refused(["--product-intent=bad.json"]);
    expect({ code, told }).toEqual({
      code: 1,
      told: [expect.stringMatching(`^ui_server: --product-intent bad\\.json: ${field} must .+`)],
    });
    expect(existsSync(join(cwd, "data"))).toBe(false);
  });

  test("an intent that is no JSON", async () => {
    await writeFile(join(cwd, "bad.json"), "{\n\n  nonsense\n}");
    const { code, told } = await refused(["--product-intent=bad.json"]);
    expect({ code, told }).toEqual({
      code: 1,
      told: [expect.stringMatching(/^ui_server: --product-intent bad\.json: .+/)],
    });
  });

  test("an intent with a field whose name has two lines", async () => {
    await intent("bad.json", { kpis: { "two\nlines": {} } });
    const { told } = await refused(["--product-intent=bad.json"]);
    expect(told).toEqual([expect.stringMatching(/^ui_server: .*two lines .*must be/)]);
  });

  test("the state of another product", async () => {
    const server = await serve(cwd, WITH_INTENT);
    server.child.kill("SIGTERM");
    await server.ended;
    await intent("other.json", { product_id: "other" });
    const { code, told } = await refused(["--port=0", "--product-intent=other.json"]);
    expect(code).toBe(1);
    expect(told).toEqual([
      expect.stringMatching(/^ui_server: --state data\/state\.json: .*"acme-crm".*"other".*product_id must match/),
    ]);
  });

  test("a second process on the same state, also by another name of it", async () => {
    const first = await serve(cwd);
    const state = join(cwd, "data/state.json");
    for (const args of [[], [`--state=${state}`]]) {
      const { code, told } = await refused(["--port=0", ...args]);
      expect(code).toBe(1);
      expect(told).toEqual([expect.stringMatching(/^ui_server: .*data\/state\.json is in use by another ui_server; /)]);
    }
    expect((await fetch(`${first.url}/livez`)).status).toBe(200);
  });

  test("a port that is taken; the state is let go again", async () => {
    const first = await serve(cwd, ["--state=one/state.json"]);
    const { port } = new URL(first.url);
    expect(await refused([`--port=${port}`])).toEqual({
      code: 1,
      told: [
        `ui_server: --port ${port}: something listens there already on 127.0.0.1; stop it, or choose another --port`,
      ],
    });
    await serve(cwd);
  });

  test("a state file that cannot be opened", async () => {
    await mkdir(join(cwd, "folder/state.json"), { recursive: true });
    const { code, told } = await refused(["--port=0", "--state=folder/state.json"]);
    expect([code, told.length]).toEqual([1, 1]);
    expect(told[0]).toContain("state.json");
  });
});

describe("stopping", () => {
  const FORM = "tenant_id=t1&affected_users=40&expected_delta_k=12";
  /** A proposal of which only the headers have arrived. */
  async function beginProposal(url: string) {
    const { port } = new URL(url);
    const socket = net.connect(Number(port), "127.0.0.1");
    const head = "POST /api/product/propose-crm-followup HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n";
    socket.write(`${head}Content-Length: ${FORM.length}\r\n\r\n`);
    const [interim] = (await once(socket, "data")) as [Buffer];
    expect(interim.toString()).toMatch(/^HTTP\/1.1 100 /);
    return socket;
  }

  test.each(["SIGTERM", "SIGINT"] as const)(
    "on %s a request in flight is finished and durable, then exit code 0",
    async (signal) => {
      const server = await serve(cwd, WITH_INTENT);
      const socket = await beginProposal(server.url);
      server.child.kill(signal);
      await server.logged("stopping");
      server.child.kill(signal); // npm passes on what the terminal has sent already
      socket.write(FORM);
      const [answer] = (await once(socket, "data")) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1.1 201 [^]*connection: close\r\n/i);
      expect(await server.ended).toEqual({ code: 0, signal: null });
      expect(await total((await serve(cwd, WITH_INTENT)).url)).toBe(1);
    },
  );

  test("a later second signal ends it at once", async () => {
    const server = await serve(cwd, WITH_INTENT);
    const socket = await beginProposal(server.url);
    socket.on("error", () => {});
    const repeat = setInterval(() => server.child.kill("SIGTERM"), 50);
    expect(await server.ended).toEqual({ code: 1, signal: null });
    clearInterval(repeat);
  });

  test("an idle connection does not hold it up", async () => {
    const server = await serve(cwd);
    const socket = net.connect(Number(new URL(server.url).port), "127.0.0.1");
    await once(socket, "connect");
    server.child.kill("SIGTERM");
    expect(await server.ended).toEqual({ code: 0, signal: null });
  });

  test("it goes on when nobody reads its log any more", async () => {
    const server = await serve(cwd, WITH_INTENT);
    server.child.stderr!.destroy();
    expect((await propose(server.url)).status).toBe(201);
    server.child.kill("SIGTERM");
    expect(await server.ended).toEqual({ code: 0, signal: null });
  });

  test("after SIGKILL what was acknowledged is there, and the state is free", async () => {
    const first = await serve(cwd, WITH_INTENT);
    for (let i = 0; i < 5; i++) expect((await propose(first.url)).status).toBe(201);
    first.child.kill("SIGKILL");
    await first.ended;
    expect(await total((await serve(cwd, WITH_INTENT)).url)).toBe(5);
  });

  test("an error that nobody expected is logged, with exit code 1", async () => {
    const hook = 'process.on("SIGUSR2", () => { throw new Error("boom") })';
    const server = await serve(cwd, [], { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` });
    server.child.kill("SIGUSR2");
    expect(await server.ended).toEqual({ code: 1, signal: null });
    expect(JSON.parse(server.stderr.at(-1)!)).toMatchObject({ level: "ERROR", error: { message: "boom" } });
  });
});

test.each(["with its length", "in pieces"])("a body over 64 KiB sent %s is answered 413", async (how) => {
  const { url } = await serve(cwd, WITH_INTENT);
  const body = Buffer.alloc(300_000, "a");
  const headers = how === "in pieces" ? { "transfer-encoding": "chunked" } : { "content-length": body.length };
  const request = http.request(`${url}/api/product/propose`, { method: "POST", headers });
  request.on("error", () => {}); // the rest may find nobody
  request.end(body);
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(413);
});
