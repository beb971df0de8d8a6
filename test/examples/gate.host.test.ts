/** Example configurations of other tools: a shell runs their scripts, and the test sends their requests and evaluates their conditions. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { app } from "../../handlers/index.ts";
import { gateTokenVerifier, readGateIssuers } from "../../lib/identity/gate_issuers.ts";
import { client } from "../support/client.ts";
import { testClock } from "../support/clock.ts";
import { openDeps, type TestDeps } from "../support/deps.ts";
import { onNode } from "../support/host_apps.ts";
import { keyServer, NOW_S, publicJwk, signedToken } from "../support/token_issuer.ts";

const ROOT = join(import.meta.dirname, "../..");
const SERVICE = "https://gov.acme.example";
const READ_TOKEN = "a-read-token-of-tests";
const ADMIN = { "x-svc-admin-token": "an-admin-token-of-tests" };
/** Commits by the state of their release; nothing proposes the `refused` one. */
const HEADS = { allowed: "a".repeat(40), waiting: "b".repeat(40), refused: "c".repeat(40) } as const;
const STATES = Object.keys(HEADS) as (keyof typeof HEADS)[];
const ISSUER = "https://gitlab.example";

let deps: TestDeps;
let server: Server;
let url: string;
/** An issuer of ID tokens, to which the job of GitHub Actions sends its request. */
let idTokens: Server;

beforeAll(async () => {
  const clock = testClock();
  const { fetch } = keyServer(async () => Response.json({ keys: [await publicJwk("ci", "RS256")] }));
  const claims = { head: "sha", environment: "environment", repository_id: "repository_id" };
  const issuer = { issuer: ISSUER, audience: SERVICE, jwks_url: `${ISSUER}/jwks`, algorithms: ["RS256"], claims };
  deps = await openDeps({
    clock,
    adminToken: ADMIN["x-svc-admin-token"],
    readToken: READ_TOKEN,
    protectReads: true,
    gateTokens: gateTokenVerifier(readGateIssuers(JSON.stringify({ issuers: [issuer] })), { clock, fetch }),
  });
  for (const target of ["deploy/42/production", "terraform/shop-production", "terraform/infrastructure/default"])
    for (const state of ["waiting", "allowed"] as const) await proposeRelease(target, state);
  const listen = async (listener: Server) => {
    await once(listener.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  };
  server = createServer(onNode(app(deps)));
  url = await listen(server);
  idTokens = createServer((request, response) => {
    const { searchParams } = new URL(request.url!, "http://x");
    void makeToken(searchParams.get("head")!, searchParams.get("audience")!).then((value) =>
      response.end(JSON.stringify({ value })),
    );
  });
  idTokensUrl = await listen(idTokens);
});
let idTokensUrl: string;
afterAll(async () => {
  for (const listener of [server, idTokens]) {
    listener.closeAllConnections();
    listener.close();
  }
});

/** Proposes the release of a head, and approves it if it is to be allowed. */
async function proposeRelease(target: string, state: "waiting" | "allowed"): Promise<void> {
  const head = HEADS[state];
  const value = target.startsWith("deploy/") ? { repository_id: 42, environment: "production", head } : { head };
  const { post } = client(app(deps));
  const fields = { tenant_id: "acme", kind: "config", target, summary: "Release", value: JSON.stringify(value) };
  const { change_id } = (await post("propose", fields, ADMIN)).body;
  if (state === "allowed") await post("approve", { change_id, approver: "ana" }, ADMIN);
}

const makeToken = (sha: string, aud: string) =>
  signedToken(
    { iss: ISSUER, aud, sub: "shop", exp: NOW_S + 300, sha, environment: "production", repository_id: 42 },
    { kid: "ci", alg: "RS256" },
  );

const readText = (name: string): string =>
  readFileSync(join(ROOT, "examples/gate", name), "utf8").replaceAll(SERVICE, url);
// oxlint-disable-next-line no-explicit-any -- whatever the file holds
const readYaml = (name: string): any => parse(readText(name), { strict: true });

/** Runs a script as a runner does; resolves with its exit code. */
async function run(script: string, env: Record<string, string>): Promise<number> {
  const { PATH = "" } = process.env;
  const child = spawn("sh", ["-ec", script], { cwd: ROOT, env: { PATH, ...env }, stdio: "ignore" });
  return (await once(child, "close"))[0] as number;
}

/** Fills in expressions of a workflow: `${{ github.sha }}`. */
const fillExpressions = (value: unknown, context: Record<string, string>): string =>
  String(value).replaceAll(/\$\{\{ ([\w.]+) \}\}/g, (_, name: string) => context[name]!);
/** Fills in variables in the values of a file's variables: `$CI_COMMIT_SHA`. */
const expandVariables = (variables: Record<string, string>, values: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [
      name,
      String(value).replaceAll(/\$(\w+)/g, (_, of: string) => values[of]!),
    ]),
  );

type Scripts = (head: string) => Promise<{ scripts: string[]; env: Record<string, string> }>;

/** The scripts of each example up to the gate, without those that deploy, and their variables. */
const SHELLS: Record<string, Scripts> = {
  "gate.sh": async (head) => ({
    scripts: ["sh examples/gate/gate.sh"],
    env: { GATE_URL: url, TENANT: "acme", TARGET: "deploy/42/production", HEAD: head, GATE_READ_TOKEN: READ_TOKEN },
  }),
  "github_actions.yml": async (head) => {
    const { env, steps } = readYaml("github_actions.yml").jobs.deploy;
    const context = { "github.sha": head, "github.repository_id": "42" };
    const variables = Object.fromEntries(
      Object.entries(env).map(([name, value]) => [name, fillExpressions(value, context)]),
    );
    const tokenRequest = {
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: "x",
      ACTIONS_ID_TOKEN_REQUEST_URL: `${idTokensUrl}/?head=${head}`,
    };
    // The last step deploys.
    const scripts = (steps as { run?: string }[]).flatMap(({ run }) => run ?? []).slice(0, -1);
    // The service accepts tokens for SERVICE only, and the script requests one for GATE_URL, which is a local address here.
    return {
      scripts: scripts.map((script) => script.replace("audience=$GATE_URL", `audience=${SERVICE}`)),
      env: { ...variables, ...tokenRequest, GATE_READ_TOKEN: READ_TOKEN },
    };
  },
  "gitlab.yml": async (head) => {
    const { variables, script, id_tokens } = readYaml("gitlab.yml").deploy;
    // The last line of the script deploys.
    expect(id_tokens).toEqual({ GATE_TOKEN: { aud: url } });
    const jobVariables = expandVariables(variables, { CI_PROJECT_ID: "42", CI_COMMIT_SHA: head });
    const GATE_TOKEN = await makeToken(head, SERVICE);
    return { scripts: script.slice(0, -1), env: { ...jobVariables, GATE_TOKEN, GATE_READ_TOKEN: READ_TOKEN } };
  },
  Jenkinsfile: async (head) => {
    const text = readText("Jenkinsfile");
    const env = Object.fromEntries(
      [...text.matchAll(/^ {4}(\w+) = '(.+)'$/gm)].map(([, name, value]) => [name, value]),
    );
    const [, script = ""] = /sh '(.+gate\.sh)'/.exec(text)!;
    return { scripts: [script], env: { ...env, GIT_COMMIT: head, GATE_READ_TOKEN: READ_TOKEN } };
  },
  "terraform.yml": async (head) => {
    const { consent, apply } = readYaml("terraform.yml").jobs;
    expect(apply.needs).toBe("consent");
    const context = { "github.sha": head, "secrets.COUNTERSIGN_READ_TOKEN": READ_TOKEN };
    const env = Object.fromEntries(
      Object.entries(consent.env).map(([name, value]) => [name, fillExpressions(value, context)]),
    );
    return { scripts: [consent.steps[1].run], env };
  },
  "argo_cd.yaml": async (head) => {
    const job = readYaml("argo_cd.yaml");
    const [{ command, args, env }] = job.spec.template.spec.containers;
    expect([job.metadata.annotations["argocd.argoproj.io/hook"], job.spec.backoffLimit]).toEqual(["PreSync", 0]);
    expect([command, env.map(({ name }: { name: string }) => name)]).toEqual([
      ["sh", "-c"],
      ["HEAD", "GATE_READ_TOKEN"],
    ]);
    return { scripts: args, env: { HEAD: head, GATE_READ_TOKEN: READ_TOKEN } };
  },
  "atlantis.yaml": async (head) => {
    const [gate, apply] = readYaml("atlantis.yaml").workflows.gated.apply.steps;
    expect(apply).toBe("apply");
    const variables = { HEAD_COMMIT: head, BASE_REPO_NAME: "infrastructure", WORKSPACE: "default" };
    return { scripts: [gate.run], env: { ...variables, GATE_READ_TOKEN: READ_TOKEN } };
  },
};

describe.each(Object.entries(SHELLS))("%s", (_, shell) => {
  test.each(STATES)("its scripts end with 0 only for an allowed release: %s", async (state) => {
    const { scripts, env } = await shell(HEADS[state]);
    expect(scripts.length).toBeGreaterThan(0);
    let code = 0;
    // A runner stops at the first step that fails; the waiting is shortened.
    for (const script of scripts) {
      const short = script.replaceAll(/WAIT=\d+/g, "WAIT=1").replaceAll(/(--retry-max-time) \d+/g, "$1 1");
      code ||= await run(short, { ...env, WAIT: "1" });
    }
    // curl exits with 22 for 403, and for a 503 that was not asked again.
    expect(code).toBe(state === "allowed" ? 0 : 22);
  });
});

test("jobs with tokens of their own are on record, once for the same subject", async () => {
  const { entries } = (await client(app(deps)).get("audit", ADMIN)).body as {
    entries: { event_type: string; detail: string }[];
  };
  const checks = entries.filter(({ event_type }) => event_type === "release_checked");
  // The scripts first ask without a token, which records nothing, and end there unless the release is allowed.
  expect(checks.map(({ detail }) => JSON.parse(detail))).toMatchObject([
    { state: "allowed", head: HEADS.allowed, caller: { iss: ISSUER, sub: "shop" } },
  ]);
});

type Answered = { state: string; allowed: boolean };
const evaluate = (expression: string, names: Record<string, unknown>): unknown =>
  // Comparison and member access are written alike in expr, which these tools evaluate.
  // oxlint-disable-next-line no-new-func -- an expression of the example
  new Function(...Object.keys(names), `return ${expression}`)(...Object.values(names));

const ask = async (address: string, headers: HeadersInit): Promise<Answered> => {
  const response = await fetch(address, { headers });
  expect(response.status).toBe(200);
  return (await response.json()) as Answered;
};

test.each(STATES)("Kargo's conditions recognise a release that is %s", async (state) => {
  const { uses, config } = readYaml("kargo.yaml");
  expect(uses).toBe("http");
  const contextValues: Record<string, string> = {
    "commitFrom('https://github.com/acme/shop').ID": HEADS[state],
    "secret('countersign').token": READ_TOKEN,
  };
  const pairs = (list: { name: string; value: string }[]) =>
    list.map(
      ({ name, value }) =>
        [name, value.replace(/^\$\{\{ (.+) \}\}$/, (_, of: string) => contextValues[of]!)] as [string, string],
    );
  const query = new URLSearchParams(pairs(config.queryParams)).toString();
  const body = await ask(`${config.url}?${query}`, pairs(config.headers));
  const response = { status: 200, body };
  expect({
    success: evaluate(config.successExpression, { response }),
    failure: evaluate(config.failureExpression, { response }),
  }).toEqual({ success: state === "allowed", failure: state === "refused" });
});

test.each(STATES)("the conditions of Argo Rollouts recognise a release that is %s", async (state) => {
  const [{ provider, successCondition, failureCondition }] = readYaml("argo_rollouts.yaml").spec.metrics;
  const { url: address, headers, jsonPath } = provider.web;
  const fillArguments = (text: string) =>
    text.replace("{{args.head}}", HEADS[state]).replace("{{args.token}}", READ_TOKEN);
  const body = await ask(
    fillArguments(address),
    headers.map(({ key, value }: { key: string; value: string }) => [key, fillArguments(value)]),
  );
  const member = /^\{\$\.(\w+)\}$/.exec(jsonPath)![1] as keyof Answered;
  const result = body[member];
  expect({ success: evaluate(successCondition, { result }), failure: evaluate(failureCondition, { result }) }).toEqual({
    success: state === "allowed",
    failure: state === "refused",
  });
});
