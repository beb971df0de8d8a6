/**
 * Random scenarios with GitHub: deliveries are lost, repeated and forged, requests fail, redirect and hang, and the process dies
 * during writes. The test checks from the log that each release had consent, and that no deployment stays unanswered.
 */
import { expect, test } from "vitest";
import { createGithubAnswers } from "../../../../lib/operations/github/answers.ts";
import { runCycle } from "../../../../lib/operations/cycle.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import type { Store } from "../../../../lib/store/store.ts";
import { gateAdapter } from "../../../../lib/targets/gate.ts";
import { app } from "../../../../handlers/index.ts";
import { client } from "../../../support/client.ts";
import { MINUTE, SECOND, testClock } from "../../../support/clock.ts";
import { openDeps } from "../../../support/deps.ts";
import { dice } from "../../../support/dice.ts";
import { type Deployment, type Fault, GithubStub, hookRequest, sign } from "../../../support/github_stub.ts";
import { countedIds } from "../../../support/ids.ts";
import { rounds } from "../../../support/length.ts";

const HEADS = ["a", "b", "c"].map((letter) => letter.repeat(40));
const ENVIRONMENTS = [
  { repository_id: 42, environment: "production" },
  { repository_id: 42, environment: "staging" },
  { repository_id: 43, environment: "production" },
];
const FAULTS: Fault[] = [
  "unreachable",
  "silent",
  "redirect",
  "moved",
  "limited",
  "forbidden",
  "absent",
  "broken",
  "broken_after",
  "lost_after",
];
const TRIES = rounds(30, 100, 100);
const SCENARIOS = rounds(1, 5, 100);

/** A store that fails every call after a chosen write, as if its process had died before or after that write. */
function mortalStore(store: Store) {
  let left = Infinity;
  let when: "before" | "after" = "before";
  const writeUnlessDead = async <T>(write: () => Promise<T>): Promise<T> => {
    if (left <= 0) throw new Error("died");
    left--;
    if (left === 0 && when === "before") throw new Error("died");
    const done = await write();
    if (left === 0) throw new Error("died");
    return done;
  };
  const read =
    <A extends unknown[], T>(run: (...args: A) => Promise<T>) =>
    (...args: A): Promise<T> =>
      left <= 0 ? Promise.reject(new Error("died")) : run(...args);
  const dying = {
    ...store,
    get: read(store.get),
    getMany: read(store.getMany),
    list: read(store.list),
    texts: read(store.texts),
    transact: (decide: Parameters<Store["transact"]>[0]) => writeUnlessDead(() => store.transact(decide)),
  } as Store;
  return { dying, kill: (at: number, how: typeof when) => ([left, when] = [at, how]), isDead: () => left <= 0 };
}

interface Entry {
  id: number;
  event_type: string;
  change_id: string;
  detail: string;
}

/** Checks from the log alone whether a deployment was consented to. `changes`: environment and head of each change. */
async function isConsented(
  store: Store,
  changes: ReadonlyMap<string, { place: string; head: string }>,
  { repository_id, environment, sha, run_id }: Deployment,
): Promise<string> {
  const entries = (await store.list("audit", { limit: 100_000 })).map(({ value }) => value as Entry);
  const place = `${repository_id}/${environment}`;
  let frozen = false;
  const facts = new Map<string, { status: string; consented: number; applied: number; checked: boolean }>();
  for (const { id, event_type, change_id, detail } of entries) {
    if (event_type === "service_frozen") frozen = true;
    if (event_type === "service_unfrozen") frozen = false;
    if (changes.get(change_id)?.place !== place) continue;
    const { status, decision, state, caller } = JSON.parse(detail);
    const fact = facts.get(change_id) ?? { status: "", consented: 0, applied: 0, checked: false };
    facts.set(change_id, fact);
    if (event_type === "release_checked") fact.checked ||= state === "allowed" && caller.run_id === String(run_id);
    else if (status !== undefined) fact.status = status;
    if (event_type === "consent_decision" && decision === "approved") fact.consented = id;
    if (event_type === "change_applied") fact.applied = id;
  }
  if (frozen) return "frozen";
  const inForce = [...facts].filter(([, { status }]) => status === "approved" || status === "applied");
  const newest = inForce.sort(([, one], [, other]) => other.consented - one.consented)[0];
  if (!newest) return "nothing is consented to";
  const [changeId, { status, checked }] = newest;
  if (changes.get(changeId)!.head !== sha) return "another head was consented to last";
  const applied = inForce.filter((one) => one[1].status === "applied");
  const owner = applied.sort(([, one], [, other]) => other.applied - one.applied)[0]?.[0];
  if (status === "applied" && owner !== changeId) return "another change holds the target";
  return checked ? "consented" : "the log does not have the answer";
}

async function runScenario(seed: number) {
  const roll = dice(seed);
  const one = <T>(of: readonly T[]): T | undefined => of[roll(of.length)];
  const clock = testClock();
  const github = new GithubStub(clock);
  const base = memoryStore();
  const ids = countedIds();
  const adapter = gateAdapter("deploys", github.gate("deploys", "t1", 20));
  const targets = [{ name: "deploys", match: ["deploy/*"], tenants: ["t1"], adapter }];
  const changes = new Map<string, { place: string; head: string }>();
  const violations: string[] = [];
  const seen = { tries: 0, released: 0, deaths: 0, rejected: 0 };
  github.released = async (deployment) => {
    seen.released++;
    const why = await isConsented(base, changes, deployment);
    if (why !== "consented") violations.push(`seed ${seed}: ${why}`);
  };
  const start = async () => {
    const mortal = mortalStore(base);
    const deps = await openDeps({ store: mortal.dying, clock, ids, targets });
    deps.github = createGithubAnswers(deps, { random: () => roll(1000) / 1000 });
    const handle = app(deps);
    return { ...mortal, deps, api: client(handle), hook: handle };
  };
  let process = await start();
  const restart = async () => {
    seen.deaths++;
    process = await start();
  };
  const hook = (request: Request) => process.hook(request);
  const pass = () => process.deps.github!.pass().catch(() => undefined);

  const propose = async () => {
    const place = one(ENVIRONMENTS)!;
    const head = one(HEADS)!;
    const target = `deploy/${place.repository_id}/${place.environment}`;
    const fields = {
      tenant_id: "t1",
      kind: "config",
      target,
      summary: "Release",
      value: JSON.stringify({ ...place, head }),
    };
    const id = (await process.api.post("propose", fields)).body?.change_id as string | undefined;
    if (id) changes.set(id, { place: `${place.repository_id}/${place.environment}`, head });
  };
  const act = (action: "approve" | "deny" | "revoke" | "apply" | "rollback") => async () => {
    const id = one([...changes.keys()].slice(-6));
    if (id) await process.api.act(action, id);
  };
  const deploy = async () => {
    const deployment = github.deploy({ ...one(ENVIRONMENTS)!, sha: one(HEADS)! });
    await github.request(deployment, roll(4) === 0 ? undefined : hook);
  };
  const replay = async () => {
    const delivery = one(github.deliveries);
    if (delivery) await hook(hookRequest(delivery.body));
  };
  const forge = async () => {
    const delivery = one(github.deliveries);
    if (!delivery) return;
    const { deployment, ...rest } = JSON.parse(delivery.body);
    const text = JSON.stringify({ ...rest, sha: HEADS[0], deployment: { ...deployment, sha: HEADS[0], id: 1 } });
    const signature = one([sign(delivery.body), sign(text, "not-the-secret-of-it"), "sha256=", null])!;
    const { status } = await hook(hookRequest(text, { signature }));
    if (status !== 401) violations.push(`seed ${seed}: a forged delivery was answered ${status}`);
  };
  const failingPass = async () => {
    github.fault = () => (roll(2) === 0 ? one(FAULTS) : undefined);
    await pass();
    github.fault = () => undefined;
  };
  const freeze = async () => void (await process.api.post("freeze", { actor: "ana", note: "incident" }));
  const unfreeze = async () => void (await process.api.post("unfreeze", { actor: "ana" }));
  const kill = async () => void process.kill(1 + roll(6), roll(2) === 0 ? "before" : "after");
  const wait = async () => clock.advance((1 + roll(120)) * SECOND);
  const redeliver = () => github.redeliver(hook);
  const governed = [
    propose,
    propose,
    act("approve"),
    act("approve"),
    act("approve"),
    act("deny"),
    act("revoke"),
    act("apply"),
    act("rollback"),
    freeze,
    unfreeze,
    unfreeze,
  ];
  const attempted = [deploy, deploy, deploy, replay, forge, failingPass, failingPass, pass, redeliver];
  const between = [wait, wait, kill];

  for (; seen.tries < TRIES; seen.tries++) {
    for (const step of [one(governed)!, one(between)!, one(attempted)!]) {
      await step();
      if (process.isDead()) await restart();
    }
  }
  // At the end faults stop and pending changes are denied, so each deployment must get an answer.
  await restart();
  await unfreeze();
  // The log also has proposals whose response was lost when the process died.
  const proposed = (await base.list("audit", { limit: 100_000 })).map(({ value }) => value as Entry);
  for (const { event_type, change_id } of proposed)
    if (event_type === "change_proposed" && (await process.api.change(change_id)).status === "pending_consent")
      await process.api.must("deny", change_id);
  for (let turn = 0; turn < 30 && github.deployments.some(({ state }) => state === "waiting"); turn++) {
    clock.advance(6 * MINUTE);
    await runCycle(process.deps);
    await pass();
    await redeliver();
  }
  seen.rejected = github.deployments.filter(({ state }) => state === "rejected").length;
  const forgotten = github.deployments.filter(({ state }) => state === "waiting").length;
  const { valid } = (await process.api.get("audit/verify")).body;
  return { violations, forgotten, strayed: github.strayed, valid, seen };
}

test("random scenarios release no commit without consent, and lose no deployment", { timeout: 600_000 }, async () => {
  const sum = { tries: 0, released: 0, deaths: 0, rejected: 0 };
  for (let seed = 1; seed <= SCENARIOS; seed++) {
    const { violations, forgotten, strayed, valid, seen } = await runScenario(seed);
    expect({ seed, violations, forgotten, strayed, valid }).toEqual({
      seed,
      violations: [],
      forgotten: 0,
      strayed: [],
      valid: true,
    });
    for (const [name, count] of Object.entries(seen)) sum[name as keyof typeof sum] += count;
  }
  // The scenarios had releases, deaths and rejections.
  expect(sum.released).toBeGreaterThan(SCENARIOS);
  expect(sum.deaths).toBeGreaterThan(2 * SCENARIOS);
  expect(sum.rejected).toBeGreaterThan(SCENARIOS);
});
