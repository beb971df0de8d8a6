/**
 * npm run crash:rollouts [-- --short] [--rollouts N] [--minutes M] [--seed S] [--prove]: kills the built program with SIGKILL
 * during rollouts on flagd files, until enough rollouts were hit. After each kill the files may expose no more users than the
 * log or a durable lease says; no step is skipped; after a rollback a file has its former bytes. Exit code 1: a fault.
 * `--prove`: a program that stores the leases of steps only in memory; the harness must report it.
 */
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { fileStore } from "../../dist/local/node.js";
import { seededRandom } from "./random.mjs";
import { ANSWER_LIMIT_MS, ask, spawnService } from "./service.mjs";
import { buildVariant, UNORDERED } from "./variants.mjs";

const text = { type: "string" };
const { values: options } = parseArgs({
  options: { rollouts: text, minutes: text, seed: text, short: { type: "boolean" }, prove: { type: "boolean" } },
});
const seed = Number(options.seed ?? Date.now() % 1_000_000);
const random = seededRandom(seed);
const requiredRollouts = Number(options.rollouts ?? (options.short ? 12 : 1000));
const deadline = performance.now() + Number(options.minutes ?? 30) * 60_000;

const SLOTS = options.short || options.prove ? 12 : 32;
/** Maximum time until a kill. Each kill before which no rollout advanced raises it by half, up to MAX_KILL_AFTER_MS. */
const KILL_AFTER_MS = options.short || options.prove ? 1500 : 2500;
const MAX_KILL_AFTER_MS = 60_000;
/** Pause of a slot between two steps. */
const PAUSE_MS = 100;
/** Timeouts of the phases. */
const LIMITS_MS = {
  "the last answers after a kill": 30_000,
  "the comparison": 60_000,
  "the end of all rollouts": 180_000,
};
const SECRET = "the feeder's secret";
const FEEDER = "agent:analytics";
/** Operations whose durable lease orders a larger share; they are counted at each kill. */
const ORDERS = ["apply", "stage"];
const STEPS = [
  { share: 1000, advance: "budget", min_hours: 0 },
  { share: 5000, advance: "proven", min_hours: 0 },
  { share: 9500, advance: "unless_worse", min_hours: 0, min_users: 500 },
];
const STAGES = JSON.stringify({
  fed_by: FEEDER,
  steps: STEPS,
  watch: [{ kpi: "conversion", kind: "binary", good: "up", allowed: 0.05 }],
});
const EVERYBODY = 10_000;
/** Returns the share of a step, of 10,000 users; the step after the last one reaches everybody. */
const findShare = (step) => STEPS[step]?.share ?? EVERYBODY;

/** The content of a file without a rollout; parsing and rendering would change its bytes. */
const initialText = (slot) =>
  `{ "flags": {\n  "slot${slot}": { "state":"ENABLED", "variants" : {"on":true,  "off":false}, "x": 1.50, "defaultVariant": "off" } } }\n`;

const folder = await mkdtemp(join(tmpdir(), "countersign-rollouts-"));
const slotFile = (slot) => join(folder, `slot${slot}.json`);
const faults = [];
const fault = (sentence) => void faults.push(sentence);

/** Waits for a phase. After its timeout throws with the text of `describe`. */
async function waitForPhase(phase, work, describe = () => "") {
  const finished = new AbortController();
  const timeout = sleep(LIMITS_MS[phase], undefined, { signal: finished.signal }).then(() => {
    throw new Error(`${phase} took more than ${LIMITS_MS[phase] / 1000} s${describe()}`);
  });
  await Promise.race([work, timeout]).finally(() => finished.abort());
}

async function prepare() {
  const token_sha256 = createHash("sha256").update(SECRET).digest("hex");
  const principals = { [FEEDER]: { kind: "agent", token_sha256 } };
  const intent = { product_id: "crash", version: "1", approved_by: "ana", update_epoch: 1, principals };
  await writeFile(join(folder, "intent.json"), JSON.stringify(intent));
  const systems = Array.from({ length: SLOTS }, (_, slot) => ({
    name: `slot${slot}`,
    type: "flagd",
    match: [`slot${slot}/*`],
    tenants: ["t1"],
    file: `slot${slot}.json`,
  }));
  await writeFile(join(folder, "targets.json"), JSON.stringify({ systems }));
  for (let slot = 0; slot < SLOTS; slot++) await writeFile(slotFile(slot), initialText(slot));
  await mkdir(join(folder, "data"));
}

/** Returns how many of 10,000 users get the value by a file; undefined for a content that no rollout writes. */
async function readShare(slot) {
  const content = await readFile(slotFile(slot), "utf8");
  if (content === initialText(slot)) return 0;
  const flag = JSON.parse(content).flags[`slot${slot}`];
  const treated = /\["treated",(\d+)\]/.exec(JSON.stringify(flag.targeting ?? ""));
  if (treated) return Number(treated[1]);
  return flag.defaultVariant === "on" ? EVERYBODY : undefined;
}

/** Returns the slot, the logged share and the step of each change; the step is -1 before the apply. */
function foldEntries(entries) {
  const changes = new Map();
  for (const { event_type, change_id, detail } of entries) {
    const { target, to } = JSON.parse(detail);
    if (event_type === "change_proposed")
      changes.set(change_id, { slot: Number(/\d+/.exec(target)[0]), share: 0, step: -1 });
    const change = changes.get(change_id);
    if (event_type === "change_applied") Object.assign(change, { share: findShare(0), step: 0 });
    if (event_type === "stage_advanced") {
      if (to !== change.step + 1) fault(`${change_id} went from step ${change.step} to ${to}`);
      Object.assign(change, { share: findShare(to), step: to });
    }
    if (event_type === "change_rolled_back") Object.assign(change, { share: 0, isOver: true });
  }
  return changes;
}

/** Reads the log and the leases of a killed program from a copy. */
async function readState() {
  const copy = join(folder, "copy");
  await rm(copy, { recursive: true, force: true });
  await cp(join(folder, "data"), copy, { recursive: true, filter: (path) => !path.includes(".lock") });
  const store = await fileStore({ path: join(copy, "state.json"), log: { info() {}, warn() {}, error() {} } });
  try {
    const entries = [];
    for (let after = "", page; page?.length !== 0; after = page.at(-1)?.id) {
      page = await store.list("audit", { after, limit: 1000 });
      entries.push(...page.map(({ value }) => value));
    }
    return {
      changes: foldEntries(entries),
      leases: (await store.list("leases", { limit: 1000 })).map(({ value }) => value),
    };
  } finally {
    await store.close();
  }
}

const hitRollouts = new Set();
const atKills = { orders: 0, steps: {} };

/** Compares the files with the log and the leases. */
async function compare() {
  const { changes, leases } = await readState();
  for (let slot = 0; slot < SLOTS; slot++) {
    const changesOfSlot = [...changes].filter(([, change]) => change.slot === slot && !change.isOver);
    const shares = changesOfSlot.map(([, { share }]) => share);
    const leasesOfSlot = leases.filter(({ change_id }) => changes.get(change_id)?.slot === slot);
    const orderedShares = leasesOfSlot.map((lease) =>
      lease.operation === "rollback" ? 0 : findShare(lease.step ?? 0),
    );
    const allowed = [Math.max(0, ...shares), ...orderedShares];
    const share = await readShare(slot);
    if (!allowed.includes(share))
      fault(`slot ${slot} exposes ${share}, and the log and the orders say ${allowed.join(", ")}`);
    atKills.orders += leasesOfSlot.filter(({ operation }) => ORDERS.includes(operation)).length;
    for (const [id, { step }] of changesOfSlot)
      if (step >= 0 || leasesOfSlot.length > 0) {
        hitRollouts.add(id);
        atKills.steps[step] = (atKills.steps[step] ?? 0) + 1;
      }
  }
}

/** Returns the totals of 100,000 users of whom `share` of 10,000 are treated, for the success rates of both groups. */
const totals = (share, [treated, control]) => {
  const n = (100_000 * share) / EVERYBODY;
  const others = 100_000 - n;
  return { treated: { n, sum: Math.round(n * treated) }, control: { n: others, sum: Math.round(others * control) } };
};

let count = 0;
let requestCount = 0;
/** Number of steps by the service and of rollbacks by the rule. */
let advanceCount = 0;
const ends = { by_rule: 0, by_hand: 0 };

/** Creates a slot that runs one rollout after another; the next step depends on the state in the service. */
function newSlot(slot) {
  let rollout = undefined;
  /** `worse`: step at which its KPI gets worse (-1: none); `end`: step at which it is rolled back by hand. */
  const newRollout = () => ({
    key: `rollout-${++count}`,
    worse: random() < 0.3 ? Math.floor(random() * 3) : -1,
    end: Math.floor(random() * 4),
  });
  const post = (url, name, fields, key = `act-${++requestCount}`) => ask(url, `/api/product/${name}`, { fields, key });
  const feed = async (url, step) => {
    const rates = step === rollout.worse ? [0.1, 0.2] : [0.2, 0.2];
    const row = { step, kpi: "conversion", as_of: new Date().toISOString(), ...totals(findShare(step), rates) };
    const body = JSON.stringify({ change_id: rollout.change_id, rows: [row] });
    const headers = { authorization: `Bearer ${SECRET}`, "content-type": "application/json" };
    const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
    await (await fetch(`${url}/api/product/samples`, { method: "POST", headers, body, signal })).text();
  };
  const act = async ({ url }) => {
    rollout ??= newRollout();
    if (!rollout.change_id) {
      const proposal = { tenant_id: "t1", kind: "config", target: `slot${slot}/slot${slot}`, summary: "A rollout" };
      const { status, body } = await post(url, "propose", { ...proposal, value: "true", stages: STAGES }, rollout.key);
      if (status !== 201) return fault(`a proposal was answered ${status}: ${body.error}`);
      rollout.change_id = body.change_id;
    }
    const { change_id } = rollout;
    const { body: change } = await ask(url, `/api/product/changes/${change_id}`);
    const { status, exposure } = change;
    if (status === "pending_consent") return post(url, "approve", { change_id, approver: "bo" });
    if (status === "approved") return post(url, "apply", { change_id });
    if (status === "applied" && exposure.step > (rollout.step ?? 0)) advanceCount++;
    Object.assign(rollout, { status, step: exposure?.step, waits_for: exposure?.waits_for });
    if (status === "applied" && exposure.step >= rollout.end) {
      rollout.isByHand = true;
      return post(url, "rollback", { change_id });
    }
    if (status === "applied") {
      // Fed once for each process and step, because continuous feeds leave no time for a cycle.
      const now = `${url} ${exposure.step}`;
      if (rollout.fed !== now) await feed(url, exposure.step);
      return (rollout.fed = now);
    }
    if (status !== "rolled_back") return fault(`${change_id} is ${status}`);
    if ((await readFile(slotFile(slot), "utf8")) !== initialText(slot))
      fault(`${change_id} was not rolled back to the byte`);
    ends[rollout.isByHand ? "by_hand" : "by_rule"]++;
    if (!rollout.isByHand) advanceCount++;
    rollout = undefined;
  };
  /** Runs steps until the service is gone, or, with `untilEnd`, until the current rollout ends. */
  const run = async (service, untilEnd) => {
    while (faults.length === 0 && !service.killed && !(untilEnd && !rollout)) {
      try {
        await act(service);
      } catch (error) {
        if (!service.killed) fault(`an answer failed: ${error.message}`);
        return;
      }
      await sleep(PAUSE_MS * (0.5 + random()));
    }
  };
  return { run, describe: () => rollout && `slot ${slot}: ${JSON.stringify(rollout)}` };
}

await prepare();
if (options.prove) await symlink(join(import.meta.dirname, "../../node_modules"), join(folder, "node_modules"));
const program = options.prove
  ? await buildVariant(UNORDERED, folder)
  : join(import.meta.dirname, "../../dist/local/ui_server.js");
const spawn = () =>
  spawnService(program, "intent.json", folder, { files: ["--state", "data/state.json", "--targets", "targets.json"] });
const slots = Array.from({ length: SLOTS }, (_, slot) => newSlot(slot));
const describeSlots = () =>
  `: ${slots
    .map(({ describe }) => describe())
    .filter(Boolean)
    .join("; ")}`;

let kills = 0;
let maxLifeMs = KILL_AFTER_MS;
let service = spawn();
const kill = async () => {
  await service.kill();
  kills++;
};
try {
  while (hitRollouts.size < requiredRollouts && faults.length === 0 && performance.now() < deadline) {
    await service.listening;
    const before = advanceCount;
    const working = slots.map(({ run }) => run(service, false));
    await sleep(50 + random() * maxLifeMs);
    await kill();
    await waitForPhase("the last answers after a kill", Promise.all(working));
    await waitForPhase("the comparison", compare());
    if (advanceCount === before && maxLifeMs >= MAX_KILL_AFTER_MS) fault(`no rollout went on${describeSlots()}`);
    maxLifeMs = advanceCount === before ? Math.min(MAX_KILL_AFTER_MS, maxLifeMs * 1.5) : KILL_AFTER_MS;
    if (kills % 20 === 0) process.stdout.write(`  ${kills} kills, ${hitRollouts.size} rollouts hit\n`);
    service = spawn();
    // Sometimes kills the program during its recovery.
    if (random() < 0.2) {
      await sleep(random() * 600);
      await kill();
      await waitForPhase("the comparison", compare());
      service = spawn();
    }
  }
  await service.listening;
  if (hitRollouts.size < requiredRollouts && faults.length === 0)
    fault(`only ${hitRollouts.size} rollouts were hit in the time there was`);
  const ending = Promise.all(slots.map(({ run }) => run(service, true)));
  if (faults.length === 0) await waitForPhase("the end of all rollouts", ending, describeSlots);
  await service.kill();
  await waitForPhase("the comparison", compare());
} catch (error) {
  fault(error.message);
} finally {
  await service.kill();
}
process.stdout.write(
  `${hitRollouts.size} rollouts hit by ${kills} kills, ${advanceCount} steps and rollbacks by the rule, seed ${seed}; ${count} begun, rolled back ${JSON.stringify(ends)}; steps at kills ${JSON.stringify(atKills.steps)}, ${atKills.orders} pending orders\n`,
);
for (const sentence of faults.slice(0, 10)) process.stdout.write(`FAULT ${sentence}\n`);
const isNoticed = faults.some((sentence) => sentence.includes("exposes"));
if (options.prove) process.stdout.write(isNoticed ? "the missing order was noticed\n" : "NOT NOTICED\n");
if (options.prove ? !isNoticed : faults.length > 0) process.exitCode = 1;
if (faults.length > 0 && !options.prove) process.stdout.write(`left in ${folder}\n`);
else await rm(folder, { recursive: true, force: true });
