/** Changes of an agent that works on: what our own apply wrote is no edit from outside. */
import { expect, test } from "vitest";
import { mandated } from "../../../support/mandates.ts";

test("the same change is applied again after another one within seconds", async () => {
  const api = await mandated();
  await api.active();
  for (const value of [104, 103, 104, 103]) {
    const { change_id } = (await api.propose({ value })).body;
    expect(await api.apply(change_id)).toMatchObject({ status: 200 });
  }
});
