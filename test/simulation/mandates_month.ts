/**
 * Simulates a month in which agents change a product under mandates, and people decide on the other changes. The service runs in
 * this process on a target system in memory, which another program sometimes edits. A seed determines the proposals, with
 * mandates or without.
 */
import { setImmediate } from "node:timers/promises";
import { app } from "../../handlers/index.ts";
import { runCycle } from "../../lib/operations/cycle.ts";
import { portableSha256 } from "../../lib/kit/platform.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { targetAdapter } from "../../lib/targets/adapter.ts";
import { routingAdapter } from "../../lib/targets/routing.ts";
import type { Reply } from "../support/client.ts";
import { DAY, HOUR, MINUTE, testClock } from "../support/clock.ts";
import { openDeps, type TestDeps } from "../support/deps.ts";
import { dice } from "../support/dice.ts";
import { memoryTarget } from "../support/memory_target.ts";
import { passkey } from "../support/passkeys.ts";
import { json } from "../support/requests.ts";
import { STAGES, totals } from "../support/rollouts.ts";
import { person } from "../support/signed.ts";
import { checkLog, type LogFindings } from "./mandates_log.ts";

const SIGNERS = { ana: passkey(), bo: passkey() };
type Person = keyof typeof SIGNERS;
const PEOPLE: readonly Person[] = ["ana", "bo"];
/** Areas of the product; each has an agent of this name. */
const AREAS = ["price", "limits", "copy", "flags"] as const;
type Area = (typeof AREAS)[number];
const TARGETS_PER_AREA = 40;
const MANDATE = "mandate:";
const makeSecret = (name: string): string => `the secret of ${name}`;
const agent = (name: string) => ({
  [`agent:${name}`]: {
    kind: "agent",
    token_sha256: portableSha256(makeSecret(name)),
    may: { max_open: 10_000, max_per_day: 100_000 },
  },
});

const makeIntent = (isMandated: boolean) => ({
  principals: {
    ...Object.fromEntries(PEOPLE.map((name) => [name, person(SIGNERS[name])])),
    ...Object.assign({}, ...AREAS.map(agent), agent("analytics")),
  },
  kpis: {
    conversion: { baseline: 0.2, target: 0.3 },
    incident_rate: { baseline: 0.03, target: 0.01 },
    csat: { baseline: 4, target: 4.5 },
  },
  policy: {
    approvers: PEOPLE,
    required_approvers: { standard: 1, major: 2 },
    apply_when: ["manual", "approved"],
    on_drift: "restore",
    guardrails: [{ kpi: "incident_rate", max_regression: 0.02, action: "rollback" }],
    stages: { watch: ["conversion"], fed_by: ["agent:analytics"], max_allowed: { conversion: 0.05 } },
    ...(isMandated && {
      mandates: {
        targets: AREAS.map((area) => `${area}.*`),
        max_days: 60,
        max_per_day: 5000,
        max_open: 500,
        apply_when: true,
      },
    }),
  },
});

/** Returns the bounds of the mandate for the agent of an area. */
const makeBounds = (area: Area) => ({
  agent: `agent:${area}`,
  targets: [`${area}.*`],
  kinds: ["config"],
  tenants: ["t1"],
  max_affected_users: 1000,
  ...(area !== "flags" && { limits: { max_step: { relative: 0.05, hours: 24 } } }),
  ...(area === "copy" && { kpi_floor: { csat: 3.5 } }),
});

/** A proposal of an agent. */
interface Idea {
  area: Area;
  fields: { target: string } & Record<string, unknown>;
}

/** Draws a proposal: nineteen of twenty lie within the usual bounds. */
function drawIdea(random: ReturnType<typeof dice>): Idea {
  const area = AREAS[random(AREAS.length)]!;
  const target = `${area}.${random(TARGETS_PER_AREA)}`;
  const value = area === "flags" ? random(2) === 0 : 980 + random(41);
  const usual = {
    tenant_id: "t1",
    kind: "config",
    target,
    value,
    summary: "Follow the market",
    apply_when: "approved",
  };
  const stated = { affected_users: 1 + random(900), risk: "low", reversible: true };
  const unusual = [{ affected_users: 5000 }, { risk: "high" }, { reversible: false }, { kind: "feature_flag" }];
  const farValues = area === "flags" ? [] : [{ value: 1200 + random(200) }];
  const outside = [...unusual, ...farValues];
  return { area, fields: { ...usual, ...stated, ...(random(20) === 0 && outside[random(outside.length)]) } };
}

/** The size of a simulation. */
export interface Month {
  days: number;
  changes_a_day: number;
  isMandated: boolean;
  seed: number;
  /** Days from one loss of a kind to the next; 0: each kind on each day. */
  every: number;
}

/** Figures of a simulation. */
export interface MonthFigures extends LogFindings {
  proposed: number;
  by_mandate: number;
  /** Number of requested signatures, by day. */
  prompts: number[];
  /** Changes that a suspended mandate had approved, and that were rejected. */
  refused: number;
}

/** Simulates all days of a month. */
export async function simulateMonth(month: Month): Promise<MonthFigures> {
  const simulation = await startSimulation(month);
  for (let day = 0; day < month.days; day++) await simulateDay(simulation, month, day);
  return { ...simulation.figures, ...(await checkLog(simulation.deps.store, simulation)) };
}

interface Simulation {
  deps: TestDeps;
  send(path: string, body: object, by?: string): Promise<Reply>;
  target: ReturnType<typeof memoryTarget>;
  random: ReturnType<typeof dice>;
  figures: Omit<MonthFigures, keyof LogFindings>;
  /** Changes that wait for people, with the number of consents that each needs. */
  waiting: Map<string, number>;
  /** Changes that a mandate approved, until they are applied. */
  open: Set<string>;
  /**
   * Contested values by change id and end of the contest (`<change_id> <contested_until>`), with the mandate of the change and the
   * cycle that found them.
   */
  contested: Map<string, { mandate_id: string | undefined; cycle: number }>;
  /** Length of the log at the end of each cycle. */
  cycleEnds: number[];
  day: number;
  /** The rollout of the day. */
  rollout: string;
}

async function startSimulation({ isMandated, seed, days }: Month): Promise<Simulation> {
  const [store, clock, target] = [memoryStore(), testClock("2026-11-01T00:00:00.000Z"), memoryTarget()];
  const toEntry = (name: string) => ({ tenant_id: "t1", target: name, kind: "config", value: null }) as never;
  for (const area of AREAS)
    for (let number = 0; number < TARGETS_PER_AREA; number++)
      target.overwrite(toEntry(`${area}.${number}`), area === "flags" ? "false" : "1000");
  const inner = targetAdapter(target.system, { store, clock });
  const systems = [{ name: "product", type: "memory", address: "memory" }];
  const adapter = routingAdapter([{ name: "product", match: ["*"], adapter: inner }], { hash: "1", systems });
  const deps = await openDeps({ store, clock, adapter, intent: makeIntent(isMandated) });
  // Edits are restored as in a long-lived process, but without its timers.
  Object.assign(deps, { longLived: true });
  const fetch = app(deps);
  const send = async (path: string, body: object, by?: string): Promise<Reply> => {
    const headers = by === undefined ? {} : { authorization: `Bearer ${makeSecret(by)}` };
    const response = await fetch(json(path, body, headers));
    const text = await response.text();
    return { status: response.status, text, body: JSON.parse(text), headers: response.headers };
  };
  const prompts = Array.from({ length: days }, () => 0);
  const figures = { proposed: 0, by_mandate: 0, refused: 0, prompts };
  const simulation: Simulation = {
    ...{ deps, send, target, figures, random: dice(seed), day: 0, rollout: "" },
    ...{ waiting: new Map(), open: new Set(), contested: new Map(), cycleEnds: [] },
  };
  if (isMandated)
    for (const area of AREAS) {
      const until = new Date(clock.now() + (days + 5) * DAY).toISOString();
      const { mandate_id } = requireSuccess(await send("mandates", { ...makeBounds(area), until }));
      for (const name of PEOPLE) await sign(simulation, "mandate", "mandate-sign", name, { mandate_id });
    }
  return simulation;
}

function requireSuccess(reply: Reply): Reply["body"] {
  if (reply.status >= 300) throw new Error(reply.text);
  return reply.body;
}

/** Signs a decision as a person and counts one prompt. */
async function sign(
  { send, figures, day }: Simulation,
  decision: string,
  path: string,
  approver: Person,
  fields: object,
) {
  const { statement } = requireSuccess(await send("consent-statement", { decision, approver, ...fields }));
  figures.prompts[day]!++;
  return requireSuccess(
    await send(path, { approver, ...fields, proof: SIGNERS[approver].sign(statement), at: JSON.parse(statement).at }),
  );
}

async function propose(simulation: Simulation, { area, fields }: Idea): Promise<string> {
  const { figures, waiting, open } = simulation;
  const { change_id, status, missing } = requireSuccess(await simulation.send("propose", fields, area));
  figures.proposed++;
  if (status === "approved") {
    figures.by_mandate++;
    open.add(change_id);
  } else waiting.set(change_id, missing[0].count);
  return change_id;
}

async function cycle(simulation: Simulation, ms: number): Promise<void> {
  const { deps, cycleEnds } = simulation;
  deps.clock.advance(ms);
  const { failed_steps } = await runCycle(deps);
  if (failed_steps.length > 0) throw new Error(`failed: ${failed_steps.join(", ")}`);
  cycleEnds.push((await deps.store.get("meta", "chain"))!.value.length);
  for (const { id, value } of await deps.store.list("drift", { limit: 100 })) {
    if (!value.contested_until || simulation.contested.has(`${id} ${value.contested_until}`)) continue;
    const { approvals } = (await deps.store.get("changes", id))!.value.change;
    const by = approvals?.find(({ approver }) => approver.startsWith(MANDATE))?.approver;
    const cause = { mandate_id: by?.slice(MANDATE.length), cycle: cycleEnds.length - 1 };
    simulation.contested.set(`${id} ${value.contested_until}`, cause);
  }
}

/** Signs all waiting changes as the people. */
async function answerPrompts(simulation: Simulation): Promise<void> {
  for (const [change_id, count] of simulation.waiting)
    for (const name of PEOPLE.slice(0, count)) await sign(simulation, "approve", "approve", name, { change_id });
  simulation.waiting.clear();
}

/** Checks changes that mandates approved. Under a suspended mandate, an apply must fail; then a person approves the change. */
async function checkMandateChanges(simulation: Simulation): Promise<void> {
  const { deps, open, send, figures } = simulation;
  for (const change_id of [...open]) {
    const { change } = (await deps.store.get("changes", change_id))!.value;
    if (change.status !== "approved") {
      open.delete(change_id);
      continue;
    }
    const reply = await send("apply", { change_id, actor: "ana" });
    // The change did not apply by itself in the last cycle. Its apply succeeds if the reason is gone, for example if the value on
    // which the consent was given was restored.
    if (reply.status === 200) {
      open.delete(change_id);
      continue;
    }
    // The target has another value than at the consent: a person revokes the consent.
    if (reply.body.code === "target_moved") {
      await sign(simulation, "revoke", "revoke", "ana", { change_id });
      open.delete(change_id);
      continue;
    }
    if (reply.body.code !== "consent_incomplete") throw new Error(reply.text);
    figures.refused++;
    await sign(simulation, "approve", "approve", "ana", { change_id });
    await send("apply", { change_id, actor: "ana" });
    open.delete(change_id);
  }
}

/** Resumes all suspended mandates as the people. */
async function resumeMandates(simulation: Simulation): Promise<void> {
  for (const { value } of await simulation.deps.store.list("mandates", { limit: 100 }))
    if (value.state === "suspended")
      for (const name of PEOPLE)
        await sign(simulation, "mandate_resume", "mandate-resume", name, { mandate_id: value.mandate_id });
}

/**
 * Causes the losses that begin at an hour. Each kind of loss has its own days: 0 a guardrail, 1 a rollout that gets worse, 2 a value
 * that another program contests, 3 a KPI below the floor of a mandate.
 */
async function causeLosses(simulation: Simulation, hour: number, every: number): Promise<void> {
  const { send, deps, target, day } = simulation;
  const isDue = (kind: number): boolean => every === 0 || day % every === kind;
  const usual = {
    tenant_id: "t1",
    kind: "config",
    summary: "Try it",
    affected_users: 10,
    risk: "low",
    reversible: true,
  };
  const feed = async (kpis: object): Promise<void> => void requireSuccess(await send("kpi", kpis));
  if (hour === 0) await feed({ incident_rate: 0.03, csat: 4 });
  const proposeAs = (area: Area, fields: Idea["fields"]): Promise<string> =>
    propose(simulation, { area, fields: { ...usual, apply_when: "approved", ...fields } });
  // Right before each loss except the contested value, the mandate approves one more change, which is not applied yet when the
  // mandate is suspended: its apply must then be rejected (`refused`).
  if (isDue(0) && hour === 10) await proposeAs("price", { target: "price.1", value: 1002 });
  if (isDue(1) && hour === 12) await proposeAs("flags", { target: "flags.1", value: true });
  if (isDue(3) && hour === 18) await proposeAs("copy", { target: "copy.1", value: 1002 });
  if (isDue(0) && hour === 9)
    await proposeAs("price", { target: "price.0", value: 1001 + (day % 2), kpi: "incident_rate" });
  if (isDue(0) && hour === 10) await feed({ incident_rate: 0.09 });
  if (isDue(0) && hour === 11) await feed({ incident_rate: 0.03 });
  if (isDue(1) && hour === 9)
    simulation.rollout = await proposeAs("flags", { target: `flags.new_${day}`, value: true, stages: STAGES });
  if (isDue(1) && hour === 12) {
    const row = { step: 0, kpi: "conversion", as_of: deps.clock.iso(), ...totals(100_000, 1000, [0.05, 0.2]) };
    requireSuccess(await send("samples", { change_id: simulation.rollout, rows: [row] }, "analytics"));
  }
  if (isDue(2) && hour === 14) await proposeAs("limits", { target: "limits.0", value: 1001 + (day % 2) });
  if (isDue(2) && hour === 15)
    for (let edit = 0; edit < 10; edit++) {
      target.overwrite({ tenant_id: "t1", target: "limits.0", kind: "config", value: null } as never, String(edit));
      await cycle(simulation, 5 * MINUTE);
    }
  if (isDue(3) && hour === 18) await feed({ csat: 3 });
  if (isDue(3) && hour === 20) await feed({ csat: 4 });
}

async function simulateDay(simulation: Simulation, { changes_a_day, every }: Month, day: number): Promise<void> {
  simulation.day = day;
  for (let hour = 0; hour < 24; hour++) {
    // Yields to the event loop, in which the test worker reports its progress.
    await setImmediate();
    const count = Math.floor((changes_a_day * (hour + 1)) / 24) - Math.floor((changes_a_day * hour) / 24);
    for (let index = 0; index < count; index++) await propose(simulation, drawIdea(simulation.random));
    await causeLosses(simulation, hour, every);
    await answerPrompts(simulation);
    await cycle(simulation, HOUR);
    await checkMandateChanges(simulation);
    if (hour % 6 === 3) await resumeMandates(simulation);
  }
}
