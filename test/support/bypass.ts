/** An adversary edits targets with the target system's own credentials, and the service restores the approved values. */
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
  for (let one = 0; one < targets; one++)
    ids.push(await api.bring("applied", { target: `p.${one}`, value: String(one) }));
  const counts = async (): Promise<Record<string, number>> => {
    const found: Record<string, number> = {};
    for await (const { event_type } of entries()) found[event_type] = (found[event_type] ?? 0) + 1;
    return found;
  };
  async function* entries() {
    for (let after = "", more = true; more;) {
      const page = await store.list("audit", { after, limit: 1000 });
      for (const { value } of page) yield value;
      after = page.at(-1)?.id ?? after;
      more = page.length === 1000;
    }
  }

  let state = seed;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  await checkDueDrift(api.deps);
  let made = 0;
  while (made < edits) {
    const round = new Map<string, unknown>();
    while (round.size < Math.min(targets / 4, edits - made))
      round.set(`p.${random(targets)}`, `edit ${made + round.size}`);
    const before = await counts();
    clock.advance(HOUR);
    await edit(round);
    await checkDueDrift(api.deps);
    const reported = await counts();
    expect((reported["change_drifted"] ?? 0) - (before["change_drifted"] ?? 0)).toBe(round.size);
    expect(await restoreEdited(api.deps)).toBe(round.size);
    expect((await counts())["value_restored"]! - (before["value_restored"] ?? 0)).toBe(round.size);
    expect(await read()).toEqual(Object.fromEntries(ids.map((_, one) => [`p.${one}`, one])));
    made += round.size;
  }

  // Edits the value after each restore: the fourth restore within an hour is contested.
  clock.advance(HOUR);
  for (let fight = 0; fight < 4; fight++) {
    await edit(new Map([["p.0", `fight ${fight}`]]));
    clock.advance(10 * MINUTE);
    await checkDueDrift(api.deps);
    expect(await restoreEdited(api.deps)).toBe(fight < 3 ? 1 : 0);
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
  expect((await read())["p.0"]).toBe("fight 3");

  // A rollback with `over_drift` succeeds although the value was edited.
  const rolledBack = await api.post("rollback", { change_id: ids[0]!, over_drift: "true", note: "stop" });
  expect(rolledBack.status).toBe(200);
  expect(await read()).not.toHaveProperty(["p.0"]);
}
