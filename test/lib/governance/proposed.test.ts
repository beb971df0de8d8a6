/** A change that is still `proposed`, as another version of the service may have left it. */
import { expect, test } from "vitest";
import { ACTIONS } from "../../support/client.ts";
import { core } from "../../support/core.ts";

async function proposed() {
  const api = await core();
  const { change_id } = await api.propose();
  await api.deps.store.transact(async (tx) => {
    const record = (await tx.get("changes", change_id))!.value;
    tx.put("changes", change_id, { ...record, change: { ...record.change, status: "proposed" } });
  });
  return { api, change_id };
}

test("it may be approved, and then goes its way", async () => {
  const { api, change_id } = await proposed();
  expect((await api.must("approve", change_id)).status).toBe("approved");
  expect((await api.must("apply", change_id)).status).toBe("applied");
});

test.each(ACTIONS.filter((action) => action !== "approve"))("%s is refused", async (action) => {
  const { api, change_id } = await proposed();
  expect(await api.act(action, change_id)).toMatchObject({
    status: 400,
    body: { code: "illegal_transition", current_status: "proposed", allowed: ["approve"] },
  });
});
