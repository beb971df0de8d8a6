/** Tests `countersign gate`: exit codes, waiting, and recorded answers. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { gateTokenVerifier, readGateIssuers } from "../../../lib/identity/gate_issuers.ts";
import { client } from "../../support/client.ts";
import { testClock } from "../../support/clock.ts";
import { keyServer, NOW_S, publicJwk, signedToken } from "../../support/token_issuer.ts";
import { type CommandLine, openCommandLine } from "./open_command_line.ts";

const HEAD = "a".repeat(40);
const GATE_ARGUMENTS = ["gate", "deploy/42/production", "--tenant-id", "t1", "--head", HEAD];
const VALUE = JSON.stringify({ repository_id: 42, environment: "production", head: HEAD });

const propose = async ({ deps }: CommandLine): Promise<string> => {
  const { propose } = client(app(deps));
  return (await propose({ target: "deploy/42/production", value: VALUE })).change_id;
};
const listReleaseChecks = async ({ deps }: CommandLine): Promise<object[]> =>
  (await client(app(deps)).audit()).flatMap(({ event_type, detail }) =>
    event_type === "release_checked" ? [JSON.parse(detail)] : [],
  );

test("refused, waiting and allowed have different exit codes, and print the reason", async () => {
  const cli = await openCommandLine();
  expect(await cli.call(GATE_ARGUMENTS)).toEqual({
    code: 6,
    out: "refused\n  no change of this target releases this head; propose one\n",
    err: "",
  });
  const id = await propose(cli);
  const waiting = `waiting  ${id}\n  ${id} waits for 1 more consent (required_approvers)\n`;
  expect(await cli.call(GATE_ARGUMENTS)).toEqual({ code: 7, out: waiting, err: "" });
  await client(app(cli.deps)).must("approve", id);
  expect(await cli.call(GATE_ARGUMENTS)).toEqual({ code: 0, out: `allowed  ${id}\n`, err: "" });
  expect(JSON.parse((await cli.call([...GATE_ARGUMENTS, "--json"])).out)).toMatchObject({
    state: "allowed",
    change_id: id,
  });
  expect(await listReleaseChecks(cli)).toEqual([]);
});

test("--timeout waits for consent, also while the service does not answer", async () => {
  const cli = await openCommandLine();
  const id = await propose(cli);
  const serve = app(cli.deps);
  let requests = 0;
  const fetch = async (request: Request): Promise<Response> => {
    requests++;
    if (requests === 2) await client(serve).must("approve", id);
    if (requests === 2) return Response.json({ code: "store_unavailable", error: "not now" }, { status: 503 });
    return serve(request);
  };
  const result = await cli.call([...GATE_ARGUMENTS, "--timeout", "60", "--interval", "0.001"], {
    fetch,
    // The clock of the test would stand still.
    now: Date.now,
  });
  expect(result).toMatchObject({ code: 0, out: `allowed  ${id}\n` });
  expect(result.err).toMatch(/^waiting .*\n {2}.*waits for 1 more consent.*\nno answer: not now\n$/);
  expect(requests).toBe(3);
});

test("at the end of --timeout the state is still `waiting`, and each message is printed once", async () => {
  const cli = await openCommandLine();
  await propose(cli);
  // The clock advances by 20 ms whenever it is read, so that the timeout of 50 ms is over after three requests.
  let ms = 0;
  const result = await cli.call([...GATE_ARGUMENTS, "--timeout", "0.05", "--interval", "0.001"], {
    now: () => (ms += 20),
  });
  expect([result.code, result.err.match(/waiting/g)?.length, cli.requests.length]).toEqual([7, 1, 3]);
});

test.each([
  {},
  [[]],
  "allowed",
  { state: "healthy", allowed: true, change_id: null, page: null, reasons: [] },
  { state: "toString", allowed: false, change_id: null, page: null, reasons: [] },
  { state: "allowed", allowed: false, change_id: "chg_1", page: null, reasons: [] },
  { state: "allowed", change_id: "chg_1", page: null, reasons: [] },
  { state: "allowed", allowed: true, change_id: "chg_1", page: null },
])("a response that is not a decision allows nothing: %j", async (body) => {
  const { call } = await openCommandLine();
  const { code, out, err } = await call(GATE_ARGUMENTS, { fetch: async () => Response.json(body) });
  expect([code, out, err]).toEqual([4, "", expect.stringContaining("something other than a decision")]);
});

test.each([
  [["gate", "deploy/42/production", "--tenant-id", "t1"], "--tenant-id and --head are required"],
  [[...GATE_ARGUMENTS.slice(0, -1), "abc"], "head must be a full commit id"],
  [[...GATE_ARGUMENTS, "--timeout", "soon"], "--timeout is a number of seconds"],
  [[...GATE_ARGUMENTS, "--interval", "-1"], "--interval is a number of seconds"],
  [[...GATE_ARGUMENTS, "--ci-token-file", "/none"], "--ci-token-file"],
])("%j is rejected with exit code 2", async (argv, message) => {
  const { call } = await openCommandLine();
  const { code, err } = await call(argv);
  expect([code, err]).toEqual([2, expect.stringContaining(message)]);
});

test("the admin token and a CI token record the answer; a token for another commit does not", async () => {
  const clock = testClock();
  const { fetch } = keyServer(async () => Response.json({ keys: [await publicJwk("ci", "RS256")] }));
  const claims = { head: "sha", environment: "environment", repository_id: "repository_id" };
  const issuer = {
    issuer: "https://ci.example",
    audience: "us",
    jwks_url: "https://ci.example/k",
    algorithms: ["RS256"],
  };
  const issuers = readGateIssuers(JSON.stringify({ issuers: [{ ...issuer, claims }] }));
  const admin = "an-admin-token-of-tests";
  const cli = await openCommandLine({
    clock,
    adminToken: admin,
    gateTokens: gateTokenVerifier(issuers, { clock, fetch }),
  });
  const { post } = client(app(cli.deps));
  const fields = { tenant_id: "t1", kind: "config", target: "deploy/42/production", summary: "Release", value: VALUE };
  await post("propose", fields, { "x-svc-admin-token": admin });
  const tokenClaims = {
    iss: "https://ci.example",
    aud: "us",
    sub: "shop",
    exp: NOW_S + 300,
    environment: "production",
  };
  const makeToken = (sha: string) =>
    signedToken({ ...tokenClaims, sha, repository_id: "42" }, { kid: "ci", alg: "RS256" });
  const folder = mkdtempSync(join(tmpdir(), "gate-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "token");
  writeFileSync(file, `${await makeToken(HEAD)}\n`);
  expect((await cli.call([...GATE_ARGUMENTS, "--ci-token-file", file])).code).toBe(7);
  expect((await cli.call(GATE_ARGUMENTS, { env: { SVC_CI_TOKEN: await makeToken("b".repeat(40)) } })).code).toBe(5);
  expect((await cli.call([...GATE_ARGUMENTS, "--record"])).code).toBe(5);
  expect((await cli.call([...GATE_ARGUMENTS, "--record"], { env: { SVC_ADMIN_TOKEN: admin } })).code).toBe(7);
  expect(await listReleaseChecks(cli)).toMatchObject([{ caller: { sub: "shop" } }, { state: "waiting" }]);
});
