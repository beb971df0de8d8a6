/**
 * A test for several target systems: an adversary edits targets with the target system's own credentials, and the service restores
 * the approved values.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { checkDueDrift } from "../../lib/changes/check_drift.ts";
import { restoreEdited } from "../../lib/changes/restore_edited.ts";
import type { Clock } from "../../lib/kit/platform.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import type { Store } from "../../lib/store/store.ts";
import { targetAdapter } from "../../lib/targets/adapter.ts";
import type { TargetSystem } from "../../lib/targets/port.ts";
import { routingAdapter } from "../../lib/targets/routing.ts";
import { fileTarget } from "../../local/targets/file.ts";
import { HOUR, MINUTE, testClock } from "./clock.ts";
import { core } from "./core.ts";
import { seededIntegers } from "./seeded_integers.ts";

interface EditRounds {
  targets: number;
  edits: number;
  seed: number;
}

/** A target system and direct access to it that bypasses the service. Values are those of tenant t1, by target. */
export interface EditedTarget {
  system: TargetSystem;
  edit(values: ReadonlyMap<string, unknown>): Promise<void>;
  read(): Promise<Record<string, unknown>>;
}

type OpenTarget = (deps: { store: Store; clock: Clock }) => EditedTarget;

/** Opens a product file as the target system. */
export const openFileTarget: OpenTarget = ({ store, clock }) => {
  const folder = mkdtempSync(join(tmpdir(), "bypass-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "product.json");
  const read = () => JSON.parse(readFileSync(path, "utf8")) as { values: { t1: Record<string, unknown> } };
  return {
    system: fileTarget({ path, store, clock, product_id: "acme-crm", instance_id: "i", name: "file" }),
    async edit(values) {
      const file = read();
      Object.assign(file.values.t1, Object.fromEntries(values));
      writeFileSync(path, JSON.stringify(file));
    },
    read: async () => read().values.t1,
  };
};

/** Requires that every edit is reported and restored or becomes contested, and that a rollback succeeds nevertheless. */
export async function checkEditsAreRestored({ targets, edits, seed }: EditRounds, open: OpenTarget): Promise<void> {
  const clock = testClock();
  const store = memoryStore();
  const { system, edit, read } = open({ store, clock });
  const { name } = system;
  const adapter = targetAdapter(system, { store, clock });
  const routed = routingAdapter([{ name, match: ["*"], adapter }]);
  const api = await core({
    store,
    clock,
    adapter: routed,
    longLived: true,
    intent: { policy: { on_drift: "restore" } },
  });
  const ids: string[] = [];
  // In a form, the value is JSON text.
  for (let index = 0; index < targets; index++)
    ids.push(await api.bring("applied", { target: `p.${index}`, value: String(index) }));
  const countEvents = async (): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for await (const { event_type } of entries()) counts[event_type] = (counts[event_type] ?? 0) + 1;
    return counts;
  };
  async function* entries() {
    for (let after = "", isLastPage = false; !isLastPage;) {
      const page = await store.list("audit", { after, limit: 1000 });
      for (const { value } of page) yield value;
      after = page.at(-1)?.id ?? after;
      isLastPage = page.length < 1000;
    }
  }

  const random = seededIntegers(seed);
  await checkDueDrift(api.deps);
  let editCount = 0;
  while (editCount < edits) {
    const edited = new Map<string, unknown>();
    while (edited.size < Math.min(targets / 4, edits - editCount))
      edited.set(`p.${random(targets)}`, `edit ${editCount + edited.size}`);
    const before = await countEvents();
    clock.advance(HOUR);
    await edit(edited);
    await checkDueDrift(api.deps);
    const reported = await countEvents();
    expect((reported["change_drifted"] ?? 0) - (before["change_drifted"] ?? 0)).toBe(edited.size);
    expect(await restoreEdited(api.deps)).toBe(edited.size);
    expect((await countEvents())["value_restored"]! - (before["value_restored"] ?? 0)).toBe(edited.size);
    expect(await read()).toEqual(Object.fromEntries(ids.map((_, index) => [`p.${index}`, index])));
    editCount += edited.size;
  }

  // Edits the value after each restore: the fourth restore within an hour is contested.
  clock.advance(HOUR);
  for (let attempt = 0; attempt < 4; attempt++) {
    await edit(new Map([["p.0", `edit again ${attempt}`]]));
    clock.advance(10 * MINUTE);
    await checkDueDrift(api.deps);
    expect(await restoreEdited(api.deps)).toBe(attempt < 3 ? 1 : 0);
  }
  const episode = (await store.get("drift", ids[0]!))?.value;
  expect(episode?.contested_until).toBeDefined();

  // A restore is rejected when the configuration names another location for the target.
  const movedSystem = { ...system, place: () => `${name} elsewhere` };
  const moved = await core({
    store,
    clock,
    adapter: routingAdapter([{ name, match: ["*"], adapter: targetAdapter(movedSystem, { store, clock }) }]),
    intent: { policy: { on_drift: "restore" } },
  });
  const rejected = await moved.post("restore", { change_id: ids[0]!, actor: "ops" });
  expect([rejected.status, rejected.body.code]).toEqual([409, "target_moved"]);
  expect((await read())["p.0"]).toBe("edit again 3");

  // A rollback with `over_drift` succeeds although the value was edited.
  const rolledBack = await api.post("rollback", { change_id: ids[0]!, over_drift: "true", note: "stop" });
  expect(rolledBack.status).toBe(200);
  expect(await read()).not.toHaveProperty(["p.0"]);
}
