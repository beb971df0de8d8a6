/** Random attacks on the bounds of a mandate: no change outside of its bounds is approved or applied. */
import { expect, test } from "vitest";
import { DAY, HOUR, MINUTE } from "../../../support/clock.ts";
import { dice } from "../../../support/dice.ts";
import { rounds } from "../../../support/run_length.ts";
import { AS_AGENT, AS_OTHER, openWithMandates, SIGNERS } from "../../../support/mandates.ts";

// The mandate's other bounds are `BOUNDS` in support/mandates.ts: steps of 5 % a day, 100 users, kind `config`, tenant `t1`.
const TARGETS = ["price.a", "price.b", "price.c", "plan.a"];
const STEP = 0.05;
const MAX_PER_DAY = 40;
const MAX_OPEN = 6;
const CONCURRENT_PROPOSALS = 64;

interface TimedValue {
  at: number;
  value: number;
}

test("small steps, races, wrong clocks, replays and other agents do not pass the bounds", async () => {
  const roll = dice(47);
  const pick = <T>(list: readonly T[]): T => list[roll(list.length)]!;
  const values = Object.fromEntries(TARGETS.map((target) => [target, 100]));
  const service = await openWithMandates({}, values);
  const { api, activate, propose, apply, decideOn, statement, send, mandate } = service;
  const { clock } = api.deps;
  const history = new Map<string, TimedValue[]>(TARGETS.map((target) => [target, [{ at: 0, value: 100 }]]));
  const bounds = { max_per_day: MAX_PER_DAY, max_open: MAX_OPEN, targets: ["price.*"] };
  let id = await activate(bounds);
  let until = clock.now() + 20 * DAY;
  let isActive = true;
  const approvedPerDay = new Map<string, number>();
  const openChanges = new Map<string, { target: string; value: number }>();
  let tries = 0;
  let approvals = 0;
  const toDay = (at: number): string => new Date(at).toISOString().slice(0, 10);
  /** The latest time of a request: on an earlier clock, the day and the step still count from it. */
  let latestTime = clock.now();

  const findBase = (target: string): number => {
    const start = Math.max(clock.now(), latestTime) - DAY;
    return history.get(target)!.findLast(({ at }) => at <= start)?.value ?? history.get(target)![0]!.value;
  };
  const isWithinStep = (target: string, value: number): boolean =>
    Math.abs(value - findBase(target)) <= findBase(target) * STEP + 1e-9;

  const verifyReply = async (
    reply: Awaited<ReturnType<typeof propose>>,
    sent: Record<string, unknown>,
    isAgent: boolean,
  ): Promise<void> => {
    tries++;
    latestTime = Math.max(latestTime, clock.now());
    const { status, approver, change_id } = reply.body;
    // No system covers plan.a, and the other agent may have only so many open changes.
    const expectedCodes = ["no_target_system", ...(isAgent ? [] : ["too_many_open"])];
    if (reply.status !== 201) return void expect(expectedCodes).toContain(reply.body.code);
    // The number of open changes of an agent is limited, so a change that needs consent is withdrawn.
    if (status !== "approved") return void (await send("withdraw", { change_id }, isAgent ? AS_AGENT : AS_OTHER));
    approvals++;
    const day = toDay(latestTime);
    approvedPerDay.set(day, (approvedPerDay.get(day) ?? 0) + 1);
    openChanges.set(change_id, { target: sent["target"] as string, value: sent["value"] as number });
    expect([isAgent, isActive, clock.now() < until]).toEqual([true, true, true]);
    expect(approver).toBe(`mandate:${id}`);
    expect([sent["tenant_id"], sent["kind"], sent["reversible"], sent["risk"] !== "high"]).toEqual([
      "t1",
      "config",
      true,
      true,
    ]);
    expect(String(sent["target"])).toMatch(/^price\./);
    expect(isWithinStep(sent["target"] as string, sent["value"] as number), `${sent["target"]} ${sent["value"]}`).toBe(
      true,
    );
    expect(sent["affected_users"]).toBeLessThanOrEqual(100);
    expect(approvedPerDay.get(day)).toBeLessThanOrEqual(MAX_PER_DAY);
    expect(openChanges.size).toBeLessThanOrEqual(MAX_OPEN);
  };
  const proposal = () => ({
    tenant_id: pick(["t1", "t1", "t1", "t1", "t2"]),
    kind: pick(["config", "config", "config", "feature_flag"]),
    target: pick(TARGETS),
    value: pick([90, 94, 95, 96, 99, 100, 101, 104, 105, 106, 109, 110, 110.25, 111, 1e9, -105]),
    affected_users: pick([1, 50, 100, 101]),
    risk: pick(["low", "medium", "high"]),
    reversible: pick([true, true, true, false]),
    tier: pick(["minor", "standard", "major"]),
  });
  const tryOnce = async (): Promise<void> => {
    const sent = proposal();
    const isAgent = roll(8) > 0;
    await verifyReply(await propose(sent, isAgent ? AS_AGENT : AS_OTHER), sent, isAgent);
  };
  const race = async (): Promise<void> => {
    const sent = Array.from({ length: CONCURRENT_PROPOSALS }, () => ({
      ...proposal(),
      tenant_id: "t1",
      kind: "config",
      reversible: true,
    }));
    const replies = await Promise.all(sent.map((fields) => propose(fields)));
    // The service may decide in another order; each approved change must be within the bounds in any order.
    for (const [index, reply] of replies.entries()) await verifyReply(reply, sent[index]!, true);
  };
  const applyOne = async (): Promise<void> => {
    const [change] = openChanges.keys();
    if (change === undefined) return;
    const { target, value } = openChanges.get(change)!;
    const isAllowed = isWithinStep(target, value) && isActive;
    const reply = await apply(change);
    if (reply.status !== 200) {
      await send("revoke", { change_id: change, approver: "ana", ...(await signDecision("revoke", change)) });
      openChanges.delete(change);
      return;
    }
    expect(isAllowed, `${change} ${target} ${value}`).toBe(true);
    openChanges.delete(change);
    latestTime = Math.max(latestTime, clock.now());
    history.get(target)!.push({ at: latestTime, value });
  };
  const signDecision = async (decision: string, change_id: string) => {
    const text = await statement(decision, "ana", { change_id });
    return { proof: SIGNERS["ana"]!.sign(text), at: JSON.parse(text).at };
  };
  const renew = async (): Promise<void> => {
    if ((await mandate(id)).state === "active") await decideOn("mandate_revoke", id, "ana");
    isActive = false;
    await tryOnce();
    id = await activate(bounds);
    until = clock.now() + 20 * DAY;
    isActive = true;
    approvedPerDay.clear();
    // The changes that the ended mandate approved are rejected at the apply, and revoked.
    for (const change of openChanges.keys()) await applyOne().then(() => openChanges.delete(change));
    openChanges.clear();
  };
  const replay = async (): Promise<void> => {
    const text = await statement("mandate_resume", "ana", { mandate_id: id });
    const { at } = JSON.parse(text);
    // The mandate is not suspended, so there is nothing to resume.
    const sent = { mandate_id: id, approver: "ana", proof: SIGNERS["ana"]!.sign(text), at };
    for (let sends = 0; sends < 2; sends++) expect((await send("mandate-resume", sent)).status).not.toBe(200);
    tries++;
  };
  const proposeOnEarlierClock = async (): Promise<void> => {
    const ms = -roll(20) * HOUR;
    clock.shift(ms);
    await tryOnce();
    clock.shift(-ms);
  };
  const advanceClock = async (): Promise<void> => clock.advance(roll(10) * HOUR + MINUTE);

  const otherActions = [applyOne, applyOne, replay, proposeOnEarlierClock, advanceClock];
  const actions = [...Array.from({ length: 6 }, () => tryOnce), ...otherActions];
  const maxTries = rounds(300, 1500, 100_000);
  while (tries < maxTries) {
    if (clock.now() > until - DAY || roll(400) === 0) await renew();
    else if (roll(200) === 0) await race();
    else await pick(actions)();
  }
  expect(approvals).toBeGreaterThan(maxTries / 100);
}, 3_600_000);
