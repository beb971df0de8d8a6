/** Drift checks of target systems that answer slowly or not at all. */
import { expect, onTestFinished, test, vi } from "vitest";
import { checkDrift } from "../../../lib/changes/check_drift.ts";
import { SECOND } from "../../support/clock.ts";
import { routingAdapter } from "../../../lib/targets/routing.ts";
import { hangs, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { core } from "../../support/core.ts";

test("a check of slow targets stops after a few seconds, and the next one continues there", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const applied: string[] = [];
  for (let index = 0; index < 12; index++) applied.push(await api.bring("applied", { target: `ui.banner${index}` }));
  const verified: string[] = [];
  adapter.on("verify", ({ change_id }) => {
    verified.push(change_id);
    api.deps.clock.advance(SECOND);
    throw new Error("no answer");
  });
  // Eight targets are verified concurrently, so one batch of eight uses up the five seconds of a check.
  expect(await checkDrift(api.deps)).toMatchObject({ checked: 8, next: expect.any(Number) });
  expect(await checkDrift(api.deps)).toMatchObject({ checked: 4, next: null, missed: true, oldest_verified_at: null });
  // The newest changes are verified first.
  expect(verified).toEqual(applied.reverse());
});

test("a hanging system does not delay the targets of another system", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const systems = ["slow", "quick"].map((name) => {
    const adapter = scriptedAdapter();
    return { name, match: [`${name}.*`], adapter };
  });
  const api = await core({ adapter: routingAdapter(systems) });
  for (let index = 0; index < 20; index++) await api.bring("applied", { target: `quick.${index}`, value: "1" });
  for (let index = 0; index < 20; index++) await api.bring("applied", { target: `slow.${index}`, value: "1" });
  const [slow, quick] = systems;
  slow!.adapter.on("verify", hangs);
  for (const { adapter } of systems) adapter.calls.length = 0;
  const check = checkDrift(api.deps);
  await vi.waitFor(() => expect(slow!.adapter.calls).toHaveLength(8));
  // After two seconds without an answer the other targets of the slow system are left out.
  await vi.advanceTimersByTimeAsync(2000);
  // 20 targets of the quick system, and 8 of the slow one.
  expect(await check).toMatchObject({ checked: 28, next: null, missed: true });
  expect(slow!.adapter.calls).toHaveLength(8);
  expect(quick!.adapter.calls).toHaveLength(20);
});
