/** A late note concurrent with a rollback of the same change. */
import { expect, test } from "vitest";
import { openDeps } from "../../support/deps.ts";
import { makeBarrier, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { makeService } from "../../support/service.ts";

test("a late note added during a rollback is stored, and the rollback succeeds", async () => {
  const adapter = scriptedAdapter();
  const api = makeService(await openDeps({ adapter }));
  // A late note states a rationale only where there is none.
  const change_id = await api.bring("applied", { rationale: "" });
  const [rollbackBegan, mayEnd] = [makeBarrier(), makeBarrier()];
  // The first rollback on the target system waits until the test lets it end.
  adapter.on("rollback", () => (rollbackBegan.open(), mayEnd.opened), 1);
  const rollback = api.post("rollback", { change_id });
  await rollbackBegan.opened;
  const note = api.post("note", { change_id, actor: "bo", item: "rationale", note: "asked for" });
  // Lets the note get as far as it can while the rollback runs.
  await Promise.race([note, new Promise((resolve) => setImmediate(resolve))]);
  mayEnd.open();
  expect([(await note).status, (await rollback).status]).toEqual([200, 200]);
  expect(await api.change(change_id)).toMatchObject({ status: "rolled_back", late_notes: [{ note: "asked for" }] });
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
});
