/** A value that another program keeps changing: its notices, and when targets were last verified. */
import { expect, test } from "vitest";
import { checkDrift } from "../../../lib/changes/check_drift.ts";
import { noticeContested } from "../../../lib/operations/notice_contested.ts";
import { buildNotification } from "../../../lib/operations/notifications.ts";
import { editableTarget } from "../../support/editable_target.ts";
import { service } from "../../support/service.ts";

/** Opens a service with an applied change, and returns functions that edit its value as another program does, and restore it. */
async function openWithEditableChange() {
  const { adapter, edit } = editableTarget();
  const api = await service({ adapter });
  const change_id = await api.bring("applied", { target: "ui.a", value: "2" });
  const restore = () => api.post("restore", { change_id, actor: "ops" });
  return { api, change_id, edit, restore };
}

test("a contested value is reported and notified once", async () => {
  const { api, change_id, edit, restore } = await openWithEditableChange();
  // Three restores succeed within an hour; the fourth is rejected as contested.
  for (let number = 10; number < 14; number++) {
    edit("ui.a", `${number}`);
    await restore();
  }
  await noticeContested(api.deps);
  await noticeContested(api.deps);
  const { entries } = (await api.get("/api/log?kind=restore_contested")).body;
  expect(entries).toMatchObject([{ kind: "restore_contested", ref: change_id }]);
  const notification = await buildNotification(api.deps, { type: "growth", data: entries[0] } as never);
  expect(notification?.type).toBe("change.restore_contested");
});

test("the notification of an external edit contains both values", async () => {
  const { api, edit } = await openWithEditableChange();
  edit("ui.a", "7");
  await checkDrift(api.deps);
  const entry = (await api.audit()).find(({ event_type }) => event_type === "change_drifted");
  const notification = await buildNotification(api.deps, { type: "audit", data: entry } as never);
  expect(notification?.text).toMatch(/^Changed outside Countersign.*it holds “7”, and “2” was consented to/);
});

test("the state and the metrics show when each target was last verified", async () => {
  const { api } = await openWithEditableChange();
  expect((await api.get("/api/state")).body.oldest_verified_at).toBeNull();
  await checkDrift(api.deps);
  const { clock } = api.deps;
  expect((await api.get("/api/state")).body.oldest_verified_at).toBe(clock.iso());
  const { text } = await api.get("/api/metrics");
  expect(text).toContain(`countersign_oldest_verified_timestamp_seconds ${clock.now() / 1000}`);
});
