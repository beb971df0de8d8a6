/** Several changes of one agent within seconds: values that the service has applied do not count as edits. */
import { expect, test } from "vitest";
import { systemClock } from "../../../../lib/kit/platform.ts";
import { targetAdapter } from "../../../../lib/targets/adapter.ts";
import { routingAdapter } from "../../../../lib/targets/routing.ts";
import { MANDATE_INTENT, openWithMandates } from "../../../support/mandates.ts";

test("the same value is applied again after another one within seconds", async () => {
  const api = await openWithMandates();
  await api.activate();
  for (const value of [104, 103, 104, 103]) {
    const { change_id } = (await api.propose({ value })).body;
    expect(await api.apply(change_id)).toMatchObject({ status: 200 });
  }
});

test("a proposal within seconds of an apply by another process has read the new value", async () => {
  const api = await openWithMandates();
  await api.activate();
  const { store } = api.api.deps;
  const otherAdapter = targetAdapter(api.target.system, { store, clock: systemClock });
  const routes = [{ name: "prices", match: ["price.*"], adapter: otherAdapter }];
  const adapter = routingAdapter(routes, {
    hash: "1",
    systems: [{ name: "prices", type: "memory", address: "memory" }],
  });
  const otherProcess = await api.restart({ intent: MANDATE_INTENT, adapter });
  // This proposal leaves a reading of the old value at the other process, which reuses readings for five seconds.
  await otherProcess.propose({ value: 103 });
  expect(await api.apply((await api.propose()).body.change_id)).toMatchObject({ status: 200 });
  const { change_id } = (await otherProcess.propose({ value: 103 })).body;
  expect(await otherProcess.apply(change_id)).toMatchObject({ status: 200 });
});
