/** Deployments on GitHub: accepted deliveries, answers to them, and failures. */
import { beforeAll, expect, test } from "vitest";
import { createGithubAnswers } from "../../../../lib/operations/github/answers.ts";
import { gateAdapter } from "../../../../lib/targets/gate.ts";
import { DAY, HOUR, MINUTE, testClock } from "../../../support/clock.ts";
import { type TestDeps, openDeps } from "../../../support/deps.ts";
import {
  appKeyPem,
  type Deployment,
  type Fault,
  GithubStub,
  hookRequest,
  sign,
  FOREIGN_URL,
} from "../../../support/github_stub.ts";
import { service, makeService, type TestService } from "../../../support/service.ts";

const [COMMIT, OTHER_COMMIT] = ["a".repeat(40), "b".repeat(40)] as const;

/** Makes the App's key before the tests, since that may take seconds. */
beforeAll(() => void appKeyPem());

async function openWithGithub(options: Parameters<typeof service>[0] = {}) {
  const clock = testClock();
  const github = new GithubStub(clock);
  const targets = [
    { name: "deploys", match: ["deploy/*"], tenants: ["t1"], adapter: gateAdapter("deploys", github.gate()) },
  ];
  const api = await service({ clock, targets, ...options });
  return { api, github, clock, targets, hook: (request: Request) => fetchOf(api)(request) };
}

const fetchOf = (api: TestService) => async (request: Request) => {
  const { status, text } = await api.send(request);
  return new Response(text, { status });
};

/** Makes answers whose delays before a repetition are not shortened at random. */
const createAnswers = (deps: TestDeps) => createGithubAnswers(deps, { random: () => 1 });

/** Proposes a release to production and, by default, approves it; returns the id of the change. */
async function proposeRelease(api: TestService, head: string, approve = true): Promise<string> {
  const value = JSON.stringify({ repository_id: 42, environment: "production", head });
  const { change_id } = await api.propose({ target: "deploy/42/production", value });
  if (approve) await api.must("approve", change_id);
  return change_id as string;
}

const PRODUCTION = { repository_id: 42, environment: "production", sha: COMMIT } as const;
const listChecks = async (api: TestService) =>
  (await api.audit())
    .filter(({ event_type }) => event_type === "release_checked")
    .map(({ detail }) => JSON.parse(detail));
const listWaiting = async ({ deps }: TestService) => deps.store.list("github_waiting", { limit: 100 });

test("a deployment waits with one comment and is approved after its change, with log entries", async () => {
  const { api, github, clock, hook } = await openWithGithub({ publicUrl: "https://gov.acme.example" });
  const id = await proposeRelease(api, COMMIT, false);
  const deployment = github.deploy(PRODUCTION);
  github.onApproved = async () => {
    const [, last] = await listChecks(api);
    expect(last).toMatchObject({ state: "allowed", head: COMMIT, caller: { run_id: String(deployment.run_id) } });
  };
  expect(await github.request(deployment, hook)).toBe(200);
  const { pass } = createAnswers(api.deps);
  await pass();
  await pass();
  const reason = `Countersign: the deployment waits for consent. ${id} waits for 1 more consent (required_approvers)`;
  expect(deployment.comments).toEqual([`${reason} https://gov.acme.example/#/changes/${id}`]);
  clock.advance(HOUR);
  await pass();
  expect([deployment.state, deployment.comments.length]).toEqual(["waiting", 1]);
  await api.must("approve", id);
  // The entry of the consent triggers the answer without a delay.
  await pass();
  expect([deployment.state, deployment.comments.length]).toEqual(["approved", 2]);
  expect(await listWaiting(api)).toEqual([]);
  const caller = {
    iss: "https://api.github.com",
    sub: `repo:acme/repo-42:environment:production:deployment:${deployment.id}`,
    run_id: String(deployment.run_id),
  };
  expect(await listChecks(api)).toMatchObject([
    { state: "waiting", caller },
    { state: "allowed", caller },
  ]);
});

test("a deployment without an approved change is rejected, and a later run can be approved", async () => {
  const { api, github, hook } = await openWithGithub();
  const { pass } = createAnswers(api.deps);
  const first = github.deploy(PRODUCTION);
  await github.request(first, hook);
  await pass();
  expect([first.state, first.comments]).toEqual([
    "rejected",
    ["Countersign: the deployment is refused. no change of this target releases this head; propose one"],
  ]);
  await proposeRelease(api, COMMIT);
  const second = github.deploy({ ...PRODUCTION, run_id: first.run_id });
  const other = github.deploy({ ...PRODUCTION, sha: OTHER_COMMIT });
  for (const deployment of [second, other]) await github.request(deployment, hook);
  await pass();
  expect([second.state, other.state]).toEqual(["approved", "rejected"]);
});

test("an environment that no target can name is rejected, and not confused with another", async () => {
  const { api, github, hook } = await openWithGithub();
  const value = JSON.stringify({ repository_id: 42, environment: "kiosk", head: COMMIT });
  const { change_id } = await api.propose({ target: "deploy/42/kiosk", value });
  await api.must("approve", change_id);
  const { pass } = createAnswers(api.deps);
  const states: Record<string, string> = { Kiosk: "approved" };
  // The first name begins with the kelvin sign, whose lower case is a k.
  const invalidNames = ["\u212aiosk", "kiosk ", "kiosk/", "kiosk/../kiosk", "k*", "kio\nsk"];
  for (const environment of invalidNames) states[environment] = "rejected";
  for (const [environment, state] of Object.entries(states)) {
    const deployment = github.deploy({ repository_id: 42, environment, sha: COMMIT });
    expect(await github.request(deployment, hook)).toBe(200);
    await pass();
    expect([environment, deployment.state]).toEqual([environment, state]);
    if (state === "rejected") expect(deployment.comments[0]).toContain("no change can release to the environment");
  }
});

test("an App with a weak secret is rejected", () => {
  const gate = new GithubStub(testClock()).gate();
  for (const secret of ["", "x".repeat(15)])
    expect(() => gateAdapter("deploys", { ...gate, secret })).toThrow("must have 16 characters or more");
});

type Forged = [title: string, status: number, makeRequest: (github: GithubStub, of: Deployment) => Request];
const editBody = (github: GithubStub, deployment: Deployment, edits: object) =>
  JSON.stringify({ ...github.body(deployment), ...edits });
const callback = (path: string) => ({ deployment_callback_url: path });
const FORGED: Forged[] = [
  ["no signature", 401, (g, of) => hookRequest(editBody(g, of, {}), { signature: null })],
  ["an empty signature", 401, (g, of) => hookRequest(editBody(g, of, {}), { signature: "" })],
  [
    "another secret",
    401,
    (g, of) => hookRequest(editBody(g, of, {}), { signature: sign(editBody(g, of, {}), "another") }),
  ],
  [
    "SHA-1",
    401,
    (g, of) => hookRequest(editBody(g, of, {}), { signature: sign(editBody(g, of, {})).replace("256", "1") }),
  ],
  [
    "another body",
    401,
    (g, of) => hookRequest(editBody(g, of, { sha: OTHER_COMMIT }), { signature: sign(editBody(g, of, {})) }),
  ],
  [
    "upper case",
    401,
    (g, of) => hookRequest(editBody(g, of, {}), { signature: sign(editBody(g, of, {})).toUpperCase() }),
  ],
  ["another event", 200, (g, of) => hookRequest(editBody(g, of, {}), { event: "ping" })],
  ["another action", 200, (g, of) => hookRequest(editBody(g, of, { action: "created" }))],
  ["shas that differ", 400, (g, of) => hookRequest(editBody(g, of, { sha: OTHER_COMMIT }))],
  ["a short sha", 400, (g, of) => hookRequest(editBody(g, of, { deployment: { id: 1, sha: "abc" } }))],
  ["no installation", 400, (g, of) => hookRequest(editBody(g, of, { installation: undefined }))],
  ["a callback elsewhere", 400, (g, of) => hookRequest(editBody(g, of, callback(FOREIGN_URL)))],
  [
    "a callback to a longer host",
    400,
    (g, of) =>
      hookRequest(
        editBody(
          g,
          of,
          callback(`https://api.github.com.evil.example/repos/acme/repo-42/actions/runs/1/deployment_protection_rule`),
        ),
      ),
  ],
  [
    "a callback with a user name",
    400,
    (g, of) =>
      hookRequest(
        editBody(
          g,
          of,
          callback(`https://api.github.com@evil.example/repos/acme/repo-42/actions/runs/1/deployment_protection_rule`),
        ),
      ),
  ],
  [
    "a callback of another repository",
    400,
    (g, of) =>
      hookRequest(
        editBody(g, of, callback(`https://api.github.com/repos/acme/other/actions/runs/1/deployment_protection_rule`)),
      ),
  ],
  [
    "a callback with a query",
    400,
    (g, of) =>
      hookRequest(
        editBody(
          g,
          of,
          callback(`https://api.github.com/repos/acme/repo-42/actions/runs/1/deployment_protection_rule?x=1`),
        ),
      ),
  ],
  [
    "a path in the name",
    400,
    (g, of) => hookRequest(editBody(g, of, { repository: { id: 42, full_name: "acme/.." } })),
  ],
  ["no JSON", 400, () => hookRequest("{")],
  [
    "another type",
    415,
    (g, of) => new Request(hookRequest(editBody(g, of, {})), { headers: { "content-type": "text/plain" } }),
  ],
  ["more than 1 MiB", 413, (g, of) => hookRequest(editBody(g, of, { more: "x".repeat(1024 * 1024) }))],
];

test("deliveries that are forged, malformed or irrelevant store nothing", async () => {
  const { api, github } = await openWithGithub();
  const deployment = github.deploy(PRODUCTION);
  for (const [title, status, makeRequest] of FORGED) {
    const reply = await api.send(makeRequest(github, deployment));
    expect([title, reply.status, reply.body.accepted ?? false], title).toEqual([title, status, false]);
  }
  expect(await listWaiting(api)).toEqual([]);
  // A large delivery: one that lists pull requests.
  const large = editBody(github, deployment, { pull_requests: [{ title: "\ufffd é".repeat(20_000) }] });
  expect((await api.send(hookRequest(large))).body).toEqual({ accepted: true });
  expect(await listWaiting(api)).toHaveLength(1);
});

test("without a GitHub App the endpoint is missing; a target without a gate is an error", async () => {
  const withoutApp = await service({
    targets: [{ name: "deploys", match: ["deploy/*"], adapter: gateAdapter("deploys") }],
  });
  expect((await withoutApp.send(hookRequest("{}"))).body).toMatchObject({ status: 404, code: "not_found" });
  const clock = testClock();
  const github = new GithubStub(clock);
  const targets = [
    { name: "deploys", match: ["deploy/42/*"], tenants: ["t1"], adapter: gateAdapter("deploys", github.gate()) },
    {
      name: "others",
      match: ["deploy/43/*"],
      tenants: ["t2"],
      adapter: gateAdapter("others", github.gate("others", "t2")),
    },
  ];
  const api = await service({ clock, targets });
  const send = (repository_id: number) =>
    api.send(hookRequest(JSON.stringify(github.body(github.deploy({ ...PRODUCTION, repository_id })))));
  expect((await send(44)).body).toMatchObject({ code: "invalid_field", fields: [{ field: "environment" }] });
  expect((await send(43)).body).toEqual({ accepted: true });
  expect((await listWaiting(api)).map(({ value }) => value.gate)).toEqual(["others"]);
});

test("replayed deliveries are answered once", async () => {
  const { api, github, hook } = await openWithGithub();
  await proposeRelease(api, COMMIT);
  const deployment = github.deploy(PRODUCTION);
  const { pass } = createAnswers(api.deps);
  for (let count = 0; count < 3; count++) expect(await github.request(deployment, hook)).toBe(200);
  await pass();
  const decisions = () => github.requests.filter(({ body }) => body.includes('"state"')).length;
  expect([deployment.state, decisions()]).toEqual(["approved", 1]);
  await github.request(deployment, hook);
  await pass();
  expect([await listWaiting(api), decisions()]).toEqual([[], 1]);
});

const FAULTS: Fault[] = ["unreachable", "silent", "redirect", "moved", "limited", "forbidden", "absent", "broken"];

test("a failed answer is retried and reported, and redirects are not followed", async () => {
  for (const fault of [...FAULTS, "broken_after", "lost_after"] as const) {
    const { api, github, clock, hook } = await openWithGithub();
    api.deps.github = createAnswers(api.deps);
    await proposeRelease(api, COMMIT);
    const deployment = github.deploy(PRODUCTION);
    await github.request(deployment, hook);
    let isFailing = true;
    github.fault = (path) => (isFailing && path.endsWith("deployment_protection_rule") ? fault : undefined);
    await api.deps.github.pass();
    // After these faults, GitHub has the answer although it seems to have failed.
    const isDone = fault.endsWith("after");
    expect([fault, deployment.state]).toEqual([fault, isDone ? "approved" : "waiting"]);
    expect([fault, (await listWaiting(api)).length]).toEqual([fault, 1]);
    const capability = (await api.get("/api/capabilities")).body.capabilities.find(
      ({ id }: { id: string }) => id === "github_gate",
    );
    expect([fault, capability.status]).toEqual([fault, "failing"]);
    isFailing = false;
    for (let minute = 0; minute < 3; minute++) {
      clock.advance(MINUTE);
      await api.deps.github.pass();
    }
    expect([fault, deployment.state, github.unexpectedUrls]).toEqual([fault, "approved", []]);
    // GitHub rejects answers for a job that already continued; after a day such an answer is dropped.
    for (let hour = 0; hour < 26; hour++) {
      clock.advance(HOUR);
      await api.deps.github.pass();
    }
    expect([fault, await listWaiting(api), api.deps.github.problem()]).toEqual([fault, [], null]);
  }
});

test("a consent that is revoked before a failed answer is retried releases nothing", async () => {
  const { api, github, clock, hook } = await openWithGithub();
  const id = await proposeRelease(api, COMMIT);
  const deployment = github.deploy(PRODUCTION);
  await github.request(deployment, hook);
  const { pass } = createAnswers(api.deps);
  github.fault = (path) => (path.endsWith("rule") ? "unreachable" : undefined);
  await pass();
  await api.must("revoke", id);
  github.fault = () => undefined;
  clock.advance(MINUTE);
  await pass();
  expect(deployment.state).toBe("rejected");
});

test("a freeze blocks a deployment, and its end releases it", async () => {
  const { api, github, clock, hook } = await openWithGithub();
  await proposeRelease(api, COMMIT);
  expect((await api.post("freeze", { actor: "ana", note: "incident of Carla" })).status).toBe(200);
  const deployment = github.deploy(PRODUCTION);
  await github.request(deployment, hook);
  const { pass } = createAnswers(api.deps);
  await pass();
  expect(deployment.state).toBe("waiting");
  // Comments are public in the repository, and an erasure cannot remove them.
  expect(deployment.comments[0]).toContain("the service is frozen by ana until somebody lifts it ");
  expect(JSON.stringify([deployment.comments, await listChecks(api)])).not.toContain("Carla");
  expect((await api.post("unfreeze", { actor: "ana" })).status).toBe(200);
  clock.advance(MINUTE);
  await pass();
  expect(deployment.state).toBe("approved");
});

test("lost deliveries are requested again until one arrives, also after a restart", async () => {
  const { api, github, clock, targets } = await openWithGithub();
  await proposeRelease(api, COMMIT);
  // GitHub lists 100 deliveries on a page.
  const lost = Array.from({ length: 110 }, () => github.deploy(PRODUCTION));
  // Without a receiver the delivery is lost.
  for (const deployment of lost) await github.request(deployment, undefined);
  clock.advance(HOUR);
  const deps = await openDeps({ store: api.deps.store, clock, targets });
  const { pass } = createAnswers(deps);
  await pass();
  expect(github.redeliveries).toHaveLength(110);
  await github.redeliver(async () => new Response(null, { status: 503 }));
  clock.advance(10 * MINUTE);
  await pass();
  await github.redeliver(fetchOf(makeService(deps)));
  await pass();
  expect(new Set(lost.map(({ state }) => state))).toEqual(new Set(["approved"]));
  clock.advance(10 * MINUTE);
  await pass();
  expect([github.redeliveries, github.unexpectedUrls]).toEqual([[], []]);
});

test("a deployment that GitHub no longer waits for is closed, and old answers are deleted", async () => {
  const { api, github, clock, hook } = await openWithGithub();
  const { pass } = createAnswers(api.deps);
  await proposeRelease(api, COMMIT, false);
  await github.request(github.deploy(PRODUCTION), hook);
  await pass();
  // GitHub waits for 30 days at most.
  clock.advance(31 * DAY);
  await pass();
  const answered = () => api.deps.store.list("github_answered", { limit: 10 });
  expect((await answered()).map(({ value }) => value.answer)).toEqual(["expired"]);
  clock.advance(31 * DAY);
  await pass();
  expect(await answered()).toEqual([]);
});
