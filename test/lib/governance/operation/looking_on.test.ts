/** While a host does not say how it was left, nothing is tried anew that is over, and looking changes nothing. */
import { expect, test } from "vitest";
import { HOUR } from "../../../support/clock.ts";
import { core } from "../../../support/core.ts";
import { fails, scriptedAdapter } from "../../../support/scripted_adapter.ts";

async function silent(policy: object = {}) {
  const host = scriptedAdapter();
  const api = await core({ adapter: host, intent: { policy } });
  const { change_id } = await api.propose();
  await api.must("approve", change_id);
  host.on("apply", fails("timeout"), 1);
  host.on("verify", () => "unknown");
  expect((await api.act("apply", change_id)).status).toBe(502);
  return { api, host, change_id };
}

test("an approval that is over is not applied once more", async () => {
  const { api, host, change_id } = await silent({ approval_ttl_hours: 1 });
  api.deps.clock.advance(300 * HOUR);
  const called = host.calls.length;
  expect(await api.act("apply", change_id)).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
  expect(host.calls.slice(called)).not.toContain("apply");
});

test("a dry run settles nothing and writes nothing", async () => {
  const { api, host, change_id } = await silent();
  const length = (await api.audit()).length;
  host.on("verify", () => "applied");
  const reply = await api.post("apply", { change_id, dry_run: true });
  expect(reply).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
  expect(await api.audit()).toHaveLength(length);
  expect((await api.act("apply", change_id)).status).toBe(400);
  expect((await api.change(change_id)).status).toBe("applied");
});

test("a dry run does not end a change whose time is over", async () => {
  const api = await core({ intent: { policy: { consent_ttl_hours: 1 } } });
  const { change_id } = await api.propose();
  const length = (await api.audit()).length;
  api.deps.clock.advance(2 * HOUR);
  expect((await api.post("apply", { change_id, dry_run: true })).status).toBe(400);
  expect(await api.audit()).toHaveLength(length);
});
