/**
 * Random scenarios with GitHub: deliveries are lost, repeated and forged, requests fail, redirect and hang, and the process
 * crashes at writes. The test checks from the log that each release had consent, and that each deployment is answered.
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
import { rounds } from "../../../support/run_length.ts";

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

/** Wraps a store: calls fail from a chosen write on, as if the process had crashed before or after the write. */
function crashingStore(store: Store) {
  let writesLeft = Infinity;
  let when: "before" | "after" = "before";
  const writeUnlessCrashed = async <T>(write: () => Promise<T>): Promise<T> => {
    if (writesLeft <= 0) throw new Error("the process crashed");
    writesLeft--;
    if (writesLeft === 0 && when === "before") throw new Error("the process crashed");
    const result = await write();
    if (writesLeft === 0) throw new Error("the process crashed");
    return result;
  };
  const read =
    <A extends unknown[], T>(run: (...args: A) => Promise<T>) =>
    (...args: A): Promise<T> =>
      writesLeft <= 0 ? Promise.reject(new Error("the process crashed")) : run(...args);
  const wrapped = {
    ...store,
    get: read(store.get),
    getMany: read(store.getMany),
    list: read(store.list),
    texts: read(store.texts),
    transact: (decide: Parameters<Store["transact"]>[0]) => writeUnlessCrashed(() => store.transact(decide)),
  } as Store;
  const crashAt = (write: number, moment: typeof when): void => void ([writesLeft, when] = [write, moment]);
  return { store: wrapped, crashAt, hasCrashed: () => writesLeft <= 0 };
}

interface Entry {
  id: number;
  event_type: string;
  change_id: string;
  detail: string;
}

/** Judges from the log alone if a deployment has consent; `changes` has the environment and head of each change. */
async function judgeRelease(
  store: Store,
  changes: ReadonlyMap<string, { place: string; head: string }>,
  { repository_id, environment, sha, run_id }: Deployment,
): Promise<string> {
  const entries = (await store.list("audit", { limit: 100_000 })).map(({ value }) => value as Entry);
  const place = `${repository_id}/${environment}`;
  let isFrozen = false;
  const facts = new Map<string, { status: string; consented: number; applied: number; checked: boolean }>();
  for (const { id, event_type, change_id, detail } of entries) {
    if (event_type === "service_frozen") isFrozen = true;
    if (event_type === "service_unfrozen") isFrozen = false;
    if (changes.get(change_id)?.place !== place) continue;
    const { status, decision, state, caller } = JSON.parse(detail);
    const fact = facts.get(change_id) ?? { status: "", consented: 0, applied: 0, checked: false };
    facts.set(change_id, fact);
    if (event_type === "release_checked") fact.checked ||= state === "allowed" && caller.run_id === String(run_id);
    else if (status !== undefined) fact.status = status;
    if (event_type === "consent_decision" && decision === "approved") fact.consented = id;
    if (event_type === "change_applied") fact.applied = id;
  }
  if (isFrozen) return "frozen";
  const permitted = [...facts].filter(([, { status }]) => status === "approved" || status === "applied");
  const newest = permitted.sort(([, a], [, b]) => b.consented - a.consented)[0];
  if (!newest) return "nothing is consented to";
  const [changeId, { status, checked }] = newest;
  if (changes.get(changeId)!.head !== sha) return "another head was consented to last";
  const applied = permitted.filter(([, fact]) => fact.status === "applied");
  const lastApplied = applied.sort(([, a], [, b]) => b.applied - a.applied)[0]?.[0];
  if (status === "applied" && lastApplied !== changeId) return "another change holds the target";
  return checked ? "consented" : "the log does not have the answer";
}

async function runScenario(seed: number) {
  const random = dice(seed);
  const pick = <T>(list: readonly T[]): T | undefined => list[random(list.length)];
  const clock = testClock();
  const github = new GithubStub(clock);
  const base = memoryStore();
  const ids = countedIds();
  const timeoutMs = 20;
  const adapter = gateAdapter("deploys", github.gate("deploys", "t1", timeoutMs));
  const targets = [{ name: "deploys", match: ["deploy/*"], tenants: ["t1"], adapter }];
  const changes = new Map<string, { place: string; head: string }>();
  const violations: string[] = [];
  const counts = { tries: 0, released: 0, crashes: 0, rejected: 0 };
  github.onApproved = async (deployment) => {
    counts.released++;
    const judgement = await judgeRelease(base, changes, deployment);
    if (judgement !== "consented") violations.push(`seed ${seed}: ${judgement}`);
  };
  const start = async () => {
    const crashing = crashingStore(base);
    const deps = await openDeps({ store: crashing.store, clock, ids, targets });
    deps.github = createGithubAnswers(deps, { random: () => random(1000) / 1000 });
    const handle = app(deps);
    return { ...crashing, deps, api: client(handle), hook: handle };
  };
  let process = await start();
  const restart = async () => {
    counts.crashes++;
    process = await start();
  };
  const hook = (request: Request) => process.hook(request);
  const pass = () => process.deps.github!.pass().catch(() => undefined);

  const propose = async () => {
    const place = pick(ENVIRONMENTS)!;
    const head = pick(HEADS)!;
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
    const id = pick([...changes.keys()].slice(-6));
    if (id) await process.api.act(action, id);
  };
  const deploy = async () => {
    const deployment = github.deploy({ ...pick(ENVIRONMENTS)!, sha: pick(HEADS)! });
    await github.request(deployment, random(4) === 0 ? undefined : hook);
  };
  const replay = async () => {
    const delivery = pick(github.deliveries);
    if (delivery) await hook(hookRequest(delivery.body));
  };
  const forge = async () => {
    const delivery = pick(github.deliveries);
    if (!delivery) return;
    const { deployment, ...rest } = JSON.parse(delivery.body);
    const text = JSON.stringify({ ...rest, sha: HEADS[0], deployment: { ...deployment, sha: HEADS[0], id: 1 } });
    const signature = pick([sign(delivery.body), sign(text, "not-the-secret-of-it"), "sha256=", null])!;
    const { status } = await hook(hookRequest(text, { signature }));
    if (status !== 401) violations.push(`seed ${seed}: a forged delivery was answered ${status}`);
  };
  const failingPass = async () => {
    github.fault = () => (random(2) === 0 ? pick(FAULTS) : undefined);
    await pass();
    github.fault = () => undefined;
  };
  const freeze = async () => void (await process.api.post("freeze", { actor: "ana", note: "incident" }));
  const unfreeze = async () => void (await process.api.post("unfreeze", { actor: "ana" }));
  const crash = async () => process.crashAt(1 + random(6), random(2) === 0 ? "before" : "after");
  const wait = async () => clock.advance((1 + random(120)) * SECOND);
  const redeliver = () => github.redeliver(hook);
  // A step that is listed twice is taken twice as often.
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
  const interruptions = [wait, wait, crash];

  for (; counts.tries < TRIES; counts.tries++) {
    for (const step of [pick(governed)!, pick(interruptions)!, pick(attempted)!]) {
      await step();
      if (process.hasCrashed()) await restart();
    }
  }
  // Without faults and pending changes, each deployment must be answered.
  await restart();
  await unfreeze();
  // The log also has proposals whose response was lost in a crash.
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
  counts.rejected = github.deployments.filter(({ state }) => state === "rejected").length;
  const unanswered = github.deployments.filter(({ state }) => state === "waiting").length;
  const { valid } = (await process.api.get("audit/verify")).body;
  return { violations, unanswered, strayed: github.unexpectedUrls, valid, counts };
}

test("random scenarios release no commit without consent, and lose no deployment", { timeout: 600_000 }, async () => {
  const sum = { tries: 0, released: 0, crashes: 0, rejected: 0 };
  for (let seed = 1; seed <= SCENARIOS; seed++) {
    const { violations, unanswered, strayed, valid, counts } = await runScenario(seed);
    expect({ seed, violations, unanswered, strayed, valid }).toEqual({
      seed,
      violations: [],
      unanswered: 0,
      strayed: [],
      valid: true,
    });
    for (const [name, count] of Object.entries(counts)) sum[name as keyof typeof sum] += count;
  }
  // The scenarios had releases, crashes and rejections.
  expect(sum.released).toBeGreaterThan(SCENARIOS);
  expect(sum.crashes).toBeGreaterThan(2 * SCENARIOS);
  expect(sum.rejected).toBeGreaterThan(SCENARIOS);
});
