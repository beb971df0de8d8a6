/**
 * Simulated rollouts through the service with a test clock: without an adapter, and on a flagd file that the official reader
 * reads. `SERVICE_ROLLOUTS=500 npm run simulate` runs 500 without an adapter and 50 on flagd. Half of the changes are harmless.
 */
import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findBucket } from "../../lib/rollout/bucket.ts";
import type { Cell, WatchedKpi } from "../../lib/rollout/plan.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { targetAdapter } from "../../lib/targets/adapter.ts";
import { flagdTarget } from "../../local/targets/flagd.ts";
import { testClock } from "../support/clock.ts";
import { loadFlagdReader } from "../support/flagd_core.ts";
import { rolloutClient, AGENTS } from "../support/rollouts.ts";
import { service, type TestService } from "../support/service.ts";
import { DEFAULT_STEPS, type Kind, KINDS, UNLESS_WORSE } from "./simulate.ts";
import { normal, type Population, populate, type Sums, uniform } from "./users.ts";

const ROLLOUTS = Number(process.env["SERVICE_ROLLOUTS"] ?? 8);
const FLAGD_ROLLOUTS = Math.max(2, Math.round(ROLLOUTS / 10));
const DECISIONS = 16;
const HOURS_PER_DECISION = 24;
const USERS_A_DAY = 10_000;
const TIMEOUT = 1_800_000;

const reader = await loadFlagdReader().catch((error: Error) => error.message);
if (typeof reader === "string") process.stdout.write(`flagd reader: skipped, ${reader}\n`);

/** Draws the users of a kind once: without the change, and with a change twice as bad as allowed. */
function drawUsers(kind: Kind) {
  const next = uniform(7);
  const watched: WatchedKpi = { ...kind.watched, kpi: "kpi_0", allowed: kind.allowed };
  const control = populate(watched, kind.draw(0), next);
  return { kind, control, harmed: populate(watched, kind.draw(2 * kind.allowed), next) };
}

const SUMS: Record<WatchedKpi["kind"], (keyof Sums)[]> = {
  binary: ["n", "sum"],
  mean: ["n", "sum", "sum2"],
  ratio: ["n", "sum", "sum2", "per", "per2", "cross"],
};
const noTotals = (): Sums => ({ n: 0, sum: 0, sum2: 0, per: 0, per2: 0, cross: 0 });

/** The system of a rollout, and checks of the values that users get there. */
interface RolloutSystem {
  api: TestService;
  proposal: { target: string; value: string };
  /** Checks that `share` of 10,000 users get the value of the change. */
  requireShare(change_id: string, share: number): Promise<void>;
  /** Checks that all users get the former value. */
  requireRestored(): Promise<void>;
}

type End = "rolled_back" | "released" | "on_hold";

/** Runs a rollout to its end or for DECISIONS decisions, and rolls it back by hand if the rule did not. */
async function runRollout(
  { api, proposal, requireShare, requireRestored }: RolloutSystem,
  users: { kind: Kind; control: Population; treated: Population },
  { isHarmful, seed }: { isHarmful: boolean; seed: number },
): Promise<End> {
  const next = uniform(seed);
  const { kind, control, treated } = users;
  const watch = Array.from({ length: kind.kpis ?? 1 }, (_, index): WatchedKpi => ({
    ...kind.watched,
    kpi: `kpi_${index}`,
    // A harmless change is judged most strictly: no harm is allowed.
    allowed: isHarmful ? kind.allowed : 0,
  }));
  const steps = isHarmful ? DEFAULT_STEPS : UNLESS_WORSE;
  const stages = JSON.stringify({ fed_by: "agent:analytics", steps, watch });
  const change_id = await api.bring("applied", { ...proposal, stages });
  const { feed, decide, exposure, passHours } = rolloutClient(api, change_id);
  let cells: Record<string, Cell> = {};
  let step = -1;
  let end: End = "on_hold";
  for (let decision = 0; decision < DECISIONS && end === "on_hold"; decision++) {
    const current = (await exposure())!;
    if (current.step !== step) {
      cells = Object.fromEntries(watch.map(({ kpi }) => [kpi, { treated: noTotals(), control: noTotals() }]));
      step = current.step;
      await requireShare(change_id, current.share);
    }
    passHours(HOURS_PER_DECISION);
    const fraction = current.share / 10_000;
    // The number of users with the value is binomial, here approximated by a normal number.
    const count = Math.round(
      USERS_A_DAY * fraction + Math.sqrt(USERS_A_DAY * fraction * (1 - fraction)) * normal(next),
    );
    const rows = Object.entries(cells).map(([kpi, cell]) => {
      treated.add(cell.treated as Sums, count, next);
      control.add(cell.control as Sums, USERS_A_DAY - count, next);
      const pick = (sums: object) =>
        Object.fromEntries(SUMS[kind.watched.kind].map((name) => [name, sums[name as keyof object]]));
      const totals = { treated: pick(cell.treated), control: pick(cell.control) };
      return { step, kpi, as_of: api.deps.clock.iso(), ...totals };
    });
    const { status, text } = await feed(rows);
    if (status !== 200) throw new Error(text);
    await decide();
    const { status: state, exposure: reached } = await api.change(change_id);
    if (state === "rolled_back") end = "rolled_back";
    else if (reached!.share === 10_000) end = "released";
  }
  if (end === "released") await requireShare(change_id, 10_000);
  if (end !== "rolled_back") await api.must("rollback", change_id);
  await requireRestored();
  return end;
}

/** Runs rollouts of all kinds in turn and counts how they end. */
async function runRollouts(system: RolloutSystem, rollouts: number) {
  const all = KINDS.map(drawUsers);
  const ends = { harmless: {} as Record<string, number>, harmful: {} as Record<string, number> };
  for (let index = 0; index < rollouts; index++) {
    const isHarmful = index % 2 === 1;
    const { kind, control, harmed } = all[Math.floor(index / 2) % all.length]!;
    const treated = isHarmful ? harmed : control;
    const end = await runRollout(system, { kind, control, treated }, { isHarmful, seed: index + 1 });
    const counts = isHarmful ? ends.harmful : ends.harmless;
    counts[end] = (counts[end] ?? 0) + 1;
  }
  return ends;
}

function requireErrorLimits(name: string, ends: Awaited<ReturnType<typeof runRollouts>>, rollouts: number): void {
  if (ROLLOUTS > 8) process.stdout.write(`${name}: ${JSON.stringify(ends)}\n`);
  // The rule may roll back 5% of the harmless rollouts; four standard deviations are added for chance.
  const half = rollouts / 2;
  const maxErrors = half * 0.05 + 4 * Math.sqrt(half * 0.05 * 0.95);
  expect(ends.harmless["rolled_back"] ?? 0).toBeLessThanOrEqual(maxErrors);
  expect(ends.harmful["released"] ?? 0).toBe(0);
}

test(
  "rollouts without an adapter keep the error limits and are rolled back exactly",
  async () => {
    const api = await service({ intent: { principals: AGENTS } });
    const before = await api.bring("applied", { target: "ui.banner", value: "false" });
    const values = async () => (await api.get("values?tenant_id=t1&target=ui.banner")).body.values;
    const initialValues = await values();
    expect(JSON.stringify(initialValues)).toContain(before);
    const ends = await runRollouts(
      {
        api,
        proposal: { target: "ui.banner", value: "true" },
        async requireShare(change_id, share) {
          const text = JSON.stringify(await values());
          expect(text).toContain(change_id);
          if (share < 10_000) expect(text).toContain(`"share":${share}`);
        },
        requireRestored: async () => expect(await values()).toEqual(initialValues),
      },
      ROLLOUTS,
    );
    requireErrorLimits("on the record", ends, ROLLOUTS);
  },
  TIMEOUT,
);

const KEY = "ui.banner";
const USERS = Array.from({ length: 500 }, (_, index) => `user-${index}`);
/** A flag file whose bytes would change if its JSON were parsed and formatted. */
const FILE = `{ "flags": {\n  "${KEY}": { "state":"ENABLED", "variants" : {"on":true,  "off":false}, "x": 1.50, "defaultVariant": "off" } } }\n`;

test.skipIf(typeof reader === "string")(
  "rollouts on a flagd file give each share the value and are rolled back to the byte",
  async () => {
    const folder = await fs.mkdtemp(join(tmpdir(), "flagd-rollouts-"));
    onTestFinished(() => fs.rm(folder, { recursive: true, force: true }));
    const path = join(folder, "flags.flagd.json");
    await fs.writeFile(path, FILE);
    const [store, clock] = [memoryStore(), testClock()];
    const adapter = targetAdapter(flagdTarget({ path, clock }), { store, clock });
    const api = await service({ intent: { principals: AGENTS }, store, clock, adapter });
    const ends = await runRollouts(
      {
        api,
        proposal: { target: KEY, value: "true" },
        async requireShare(change_id, share) {
          const flags = new (reader as Exclude<typeof reader, string>)();
          flags.setConfigurations(await fs.readFile(path, "utf8"));
          for (const userId of USERS)
            expect(flags.resolveBooleanEvaluation(KEY, false, { userId }).value).toBe(
              findBucket(change_id, userId) < share,
            );
        },
        requireRestored: async () => expect(await fs.readFile(path, "utf8")).toBe(FILE),
      },
      FLAGD_ROLLOUTS,
    );
    requireErrorLimits("on flagd", ends, FLAGD_ROLLOUTS);
  },
  TIMEOUT,
);
