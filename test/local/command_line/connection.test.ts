/**
 * Tests how the command line reaches the service: tokens, addresses and wrong arguments. Exit codes: 1 rejected by the service,
 * 2 wrong arguments, 4 no answer of a service, 5 a token is missing or wrong.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { PROGRAMS } from "../../../local/command_line/programs.ts";
import { sha256 } from "../../../local/node_ports.ts";
import { temporaryFolder } from "../../e2e/server.ts";
import { openCommandLine, PROPOSE } from "./open_command_line.ts";

const TOKEN = "an-admin-token-of-tests";
const SECRET = "a-secret-of-an-agent";
const folder = temporaryFolder();
const writeTemporary = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

test("tokens come from variables and files, and never from arguments", async () => {
  const { call } = await openCommandLine({ adminToken: TOKEN });
  const exitCodeWith = async (env: Record<string, string>, ...more: string[]) =>
    (await call([...PROPOSE, ...more], { env })).code;
  expect(await exitCodeWith({})).toBe(5);
  expect(await exitCodeWith({ SVC_ADMIN_TOKEN: TOKEN })).toBe(0);
  expect(await exitCodeWith({ SVC_ADMIN_TOKEN_FILE: writeTemporary("token", `${TOKEN}\n`) })).toBe(0);
  expect(await exitCodeWith({}, "--token-file", writeTemporary("token", TOKEN))).toBe(0);
  expect(await exitCodeWith({ SVC_ADMIN_TOKEN: "another" })).toBe(5);
  const rejected = await call([...PROPOSE, "--token", TOKEN]);
  expect(rejected).toMatchObject({ code: 2, out: "", err: expect.stringContaining("unknown option '--token'") });
  expect(rejected.err).not.toContain(TOKEN);
});

test("an agent proposes under its own name, may not approve, and may not give an admin token too", async () => {
  const { call, answer } = await openCommandLine({
    adminToken: TOKEN,
    intent: {
      principals: {
        "agent:ci": { kind: "agent", token_sha256: sha256(SECRET) },
      },
    },
  });
  const env = { SVC_AGENT_TOKEN: SECRET };
  const { change_id, proposer } = await answer(PROPOSE, { env });
  expect(proposer).toBe("agent:ci");
  const rejected = await call(["approve", change_id, "--approver", "ana"], { env });
  expect(rejected).toMatchObject({ code: 1, err: expect.stringContaining("(agent_may_not") });
  const both = await call(PROPOSE, { env: { ...env, SVC_ADMIN_TOKEN: TOKEN } });
  expect(both).toMatchObject({ code: 2, err: expect.stringContaining("give one") });
});

test("`whoami` fails with a token that the service does not know", async () => {
  const principals = { "agent:ci": { kind: "agent", token_sha256: sha256(SECRET) } };
  const { call } = await openCommandLine({ adminToken: TOKEN, intent: { principals } });
  const whoami = (env: Record<string, string>) => call(["whoami"], { env });
  const known = [{}, { SVC_AGENT_TOKEN: SECRET }, { SVC_ADMIN_TOKEN: TOKEN }];
  for (const env of known) expect(await whoami(env)).toMatchObject({ code: 0, err: "" });
  for (const env of [{ SVC_AGENT_TOKEN: "wrong" }, { SVC_ADMIN_TOKEN: "wrong" }])
    expect(await whoami(env)).toMatchObject({
      code: 5,
      out: expect.stringContaining("nobody"),
      err: "countersign: the token is not known here\n",
    });
  // A service without an admin token checks none.
  const withoutTokens = await openCommandLine();
  expect(await withoutTokens.call(["whoami"], { env: { SVC_ADMIN_TOKEN: TOKEN } })).toMatchObject({ code: 0 });
});

describe("a call with wrong arguments exits with code 2 and names the remedy", () => {
  test.each<[title: string, argv: string[], reported: string]>([
    ["an unknown verb", ["aprove", "chg_1"], "Did you mean approve?"],
    ["an unknown option", [...PROPOSE, "--summery", "x"], "Did you mean --summary?"],
    ["an unknown option like no other", ["state", "--person", "x"], "unknown option '--person'\n(see --help"],
    ["words that a shell may have added", ["propose", "a.txt", "b.txt"], "stands for file names: quote it"],
    ["a missing argument", ["show"], "change_id"],
    ["too many arguments", ["show", "chg_1", "chg_2"], "too many arguments"],
    ["an unknown choice", [...PROPOSE, "--kind", "setting"], "Allowed choices are config"],
    ["a text for a number", [...PROPOSE, "--affected-users", "many"], "It must be a number"],
    ["an argument that is empty", ["approve", ""], "'change_id'. It is empty"],
    ["an option before its verb", ["--json", "list"], "countersign list --json"],
    ["text that is not JSON", [...PROPOSE, "--value", "{on}"], "It is not valid JSON"],
    ["JSON that can be read in two ways", [...PROPOSE, "--value", '{"on":1,"on":2}'], 'It repeats the member "on"'],
    ["a KPI without a value", ["kpi", "csat"], "name=number"],
    ["a KPI with two values", ["kpi", "csat=1", "csat=2"], "csat is given twice"],
    ["an address without a scheme", ["list", "--url", "gov.acme.example"], "must be an http or https URL"],
    ["a password in the address", ["list", "--url", "https://a:b@gov.acme.example"], "an address alone"],
    [
      "a file that does not exist",
      ["list", "--token-file", "/nowhere/token"],
      "--token-file /nowhere/token cannot be read (ENOENT)",
    ],
    ["fields that the service rejects", ["propose", "--kind", "config"], "--tenant-id"],
  ])("%s", async (_, argv, reported) => {
    const { call } = await openCommandLine();
    const { code, out, err } = await call(argv);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(reported);
  });
});

test("without arguments it lists its commands; --help and --version go to standard output", async () => {
  const { call } = await openCommandLine();
  const [withoutArguments, help] = [await call([]), await call(["--help"])];
  expect(withoutArguments).toEqual(help);
  expect(help).toMatchObject({ code: 0, err: "", out: expect.stringContaining("Exit codes:") });
  expect((await call(["help", "wait"])).out).toBe((await call(["wait", "--help"])).out);
  expect((await call(["help", "audit", "list"])).out).toBe((await call(["audit", "list", "--help"])).out);
  expect(await call(["help", "nope"])).toMatchObject({ code: 2, out: "" });
  expect(await call(["audit"])).toMatchObject({ code: 2, out: "" });
  expect(await call(["--version"])).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

test("`help` for a command that is a program of its own shows that program's help", async () => {
  const { call } = await openCommandLine();
  const serve = vi.spyOn(PROGRAMS["serve"]!, "main").mockResolvedValue(0);
  onTestFinished(() => serve.mockRestore());
  expect((await call(["help", "serve"])).code).toBe(0);
  expect(serve).toHaveBeenCalledWith(["--help"], {});
});

test("a rejected field is named as an option only if there is such an option", async () => {
  const { call } = await openCommandLine();
  const { err } = await call(["kpi", "nonsense=4"]);
  expect(err).toContain("nonsense is not a field");
  expect(err).not.toContain("--");
});

test("the service's address is --url, or else SVC_URL with its path, or else the default", async () => {
  const { call, requests } = await openCommandLine();
  const env = { SVC_URL: "https://gov.acme.example/governance/" };
  await call(["whoami"], { env });
  await call(["whoami", "--url", "http://localhost:9000"], { env });
  await call(["whoami"]);
  expect(requests.map(({ url }) => url)).toEqual([
    "https://gov.acme.example/governance/api/whoami",
    "http://localhost:9000/api/whoami",
    "http://127.0.0.1:8420/api/whoami",
  ]);
});

test("a token sent over unencrypted HTTP to another machine causes a warning", async () => {
  const { call } = await openCommandLine();
  const readWarning = async (url: string) =>
    (await call(["whoami", "--url", url], { env: { SVC_READ_TOKEN: TOKEN } })).err;
  expect(await readWarning("http://gov.acme.example")).toContain("without TLS");
  expect(await readWarning("https://gov.acme.example")).toBe("");
  expect(await readWarning("http://[::1]:8420")).toBe("");
});

test("an address with another server or no service, or a service without intent, exits with 4", async () => {
  const { call } = await openCommandLine();
  const unreachable = () => Promise.reject(new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") }));
  const otherServer = async () => new Response("<html>", { status: 404 });
  expect(await call(["kpi", "csat=1"], { fetch: otherServer })).toMatchObject({ code: 4 });
  expect(await call(["whoami"], { fetch: unreachable })).toMatchObject({
    code: 4,
    err: expect.stringContaining("SVC_URL"),
  });
  expect(await (await openCommandLine({ intent: null })).call(["list"])).toMatchObject({ code: 4 });
});

test("`mcp` sends each line to the service with the agent's secret, and prints the response", async () => {
  const { call } = await openCommandLine();
  const sent: [url: string, authorization: string | null, body: string][] = [];
  const output = new PassThrough();
  const called = await call(["mcp", "--url", "http://127.0.0.1:9000/gov"], {
    // An admin token in the environment is not sent.
    env: { SVC_AGENT_TOKEN: SECRET, SVC_ADMIN_TOKEN: "x".repeat(20) },
    input: Readable.from(['{"jsonrpc":"2.0","id":7,"method":"tools/list"}\n']),
    output,
    fetch: async (request) => {
      sent.push([request.url, request.headers.get("authorization"), await request.text()]);
      return Response.json({ jsonrpc: "2.0", id: 7, result: {} });
    },
  });
  expect(called).toEqual({ code: 0, out: "", err: "" });
  expect(sent).toEqual([
    ["http://127.0.0.1:9000/gov/mcp", `Bearer ${SECRET}`, '{"jsonrpc":"2.0","id":7,"method":"tools/list"}'],
  ]);
  expect(output.read().toString()).toBe('{"jsonrpc":"2.0","id":7,"result":{}}\n');
  const withAdminToken = await call(["mcp", "--token-file", "admin"]);
  expect(withAdminToken).toMatchObject({ code: 2, err: expect.stringContaining("never the admin token") });
});
