/** The figures that chat names are reckoned anew from the ledger of the month, line by line; a line not known here fails. */
import { beforeAll, expect, test } from "vitest";
import type { Month } from "../../support/month/acts.ts";
import type { Standing } from "../../support/month/ledger.ts";
import { simulatedMonth } from "../../support/month/month.ts";
import { type Reckoning, reckonAt } from "../../support/month/reckoning.ts";

let month: Month;
let now: Reckoning;
beforeAll(async () => {
  month = await simulatedMonth();
  now = reckonAt(month.ledger, month.deps.clock.iso());
});

const said = async (question: string): Promise<string[]> => (await month.ask(question)).reply.text.split("\n");
const short = (value: number | null): string => String(Number(value!.toFixed(3)));
const minute = (at: string): string => at.slice(0, 16).replace("T", " ");
const valuesOf = () => [now.effect(), now.memory(), now.reliability(), now.need()].map(({ value }) => short(value));
const count = (standing: Standing): number => now.waitingFor(standing).length;
const entries = async (): Promise<number> => (await month.get("audit?limit=1")).body.length;

test("the status", async () => {
  const [E, M, R, N] = valuesOf();
  const [counts, feed, log, state, ...rest] = await said("What is the status?");
  expect(counts).toBe(
    `acme-crm 2026.10: changes ${count("pending_consent")} waiting for consent, ${count("approved")} approved, ${count("applied")} applied, ${count("rolled_back")} rolled back, ${count("denied")} denied.`,
  );
  expect(feed).toBe("Last KPI feed: 2026-11-16T08:00:00.000Z. Adapter: scripted, ready. Drift: missing.");
  expect(log).toBe(`The audit log has ${await entries()} entries.`);
  expect(state).toMatch(/^Tick \d+\. /);
  expect(state!.replace(/^Tick \d+\. /, "")).toBe(
    `E ${E}, M ${M}, R ${R}, N ${N}. Tasks: 1 queued, 0 running, 2 completed, 0 failed.`,
  );
  expect(rest).toEqual([]);
});

test("the status in Chinese", async () => {
  const [E, M, R, N] = valuesOf();
  const [counts, , log, state, ...rest] = await said("现在状态怎么样？");
  expect(counts).toBe(
    `acme-crm 2026.10：变更 待审批 ${count("pending_consent")}，已批准 ${count("approved")}，已应用 ${count("applied")}，已回滚 ${count("rolled_back")}，已拒绝 ${count("denied")}。`,
  );
  expect(log).toBe(`审计日志共 ${await entries()} 条。`);
  expect(state).toContain(`E ${E}，M ${M}，R ${R}，N ${N}。任务：排队 1，运行中 0，完成 2，失败 0。`);
  expect(rest).toEqual([]);
});

test("the KPIs", async () => {
  const [first, ...lines] = await said("How are our KPIs?");
  expect(first).toBe(`E is ${short(now.effect().value)}.`);
  expect(lines).toHaveLength(4);
  for (const { kpi, value, at, target, attainment, stale } of now.effect().parts) {
    const line = lines.find((one) => one.startsWith(`- ${kpi} `))!;
    const goal = now.goals().find((one) => one.kpi === kpi)!;
    const progress = short((value - goal.baseline) / (target - goal.baseline));
    const toGo = goal.status === "met" ? "" : `, ${short(Math.abs(target - value))} to go`;
    expect(line).toBe(
      `- ${kpi} ${value} on ${minute(at)}, baseline ${goal.baseline}, target ${target}, attainment ${short(attainment)}, goal ${goal.status}, progress ${progress}${toGo}${stale ? ", stale: not fed for over 7 days" : ""}`,
    );
  }
});

test("what is overdue", async () => {
  const { items, value } = now.need();
  const [open, overdue] = [items.map((one) => one.open), items.map((one) => one.overdue)];
  const sum = (all: number[]) => all.reduce((total, one) => total + one, 0);
  const lines = await said("What is overdue?");
  expect(lines.slice(0, 1 + items.length)).toEqual([
    `N is ${short(value)}: of ${sum(open)} open items ${sum(overdue)} are overdue.`,
    ...items.map((one) => `- ${one.item}: ${one.overdue} of ${one.open} overdue`),
  ]);
  // Each change that is named is one that is overdue, drifts, or is to be reviewed.
  const late = new Set(
    [...now.waitingFor("pending_consent"), ...now.waitingFor("approved"), ...now.drifting(), ...now.reviewsDue()].map(
      ({ id }) => id,
    ),
  );
  for (const line of lines.slice(1 + items.length))
    if (line.startsWith("- ")) expect(late).toContain(/chg_[\w-]+/.exec(line)?.[0]);
    else
      expect(line).toMatch(
        /^(Waiting for consent for over 24 hours: 3|.*not applied.*: 2|Stale KPIs: deal_win_rate, incident_rate\.)$/,
      );
});
