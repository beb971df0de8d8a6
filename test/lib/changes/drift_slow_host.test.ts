import { expect, test } from "vitest";
import { checkDrift } from "../../../lib/changes/drift.ts";
import { SECOND } from "../../support/clock.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { core } from "../../support/core.ts";

test("a host that takes its time keeps a check half a minute and no longer; the next goes on from there", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const applied: string[] = [];
  for (let i = 0; i < 5; i++) applied.push(await api.bring("applied", { target: `ui.banner${i}` }));
  const asked: string[] = [];
  adapter.on("verify", ({ change_id }) => {
    asked.push(change_id);
    api.deps.clock.advance(10 * SECOND);
    throw new Error("no answer");
  });
  expect(await checkDrift(api.deps)).toMatchObject({ checked: 3, cursor: expect.any(String) });
  expect(await checkDrift(api.deps)).toMatchObject({ checked: 2, cursor: null });
  expect(asked).toEqual(applied);
});
