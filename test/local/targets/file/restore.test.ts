/** After a restore of an older backup, drift compares the host's values with the restored log. */
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { countersign } from "../../../../handlers/index.ts";
import type { Service } from "../../../../lib/service.ts";
import { fileAdapter } from "../../../../local/targets/file.ts";
import { openFileStore } from "../../../../local/store/file_store.ts";
import { type Client, client } from "../../../support/client.ts";
import { type TestClock, testClock } from "../../../support/clock.ts";
import { manifest } from "../../../support/intents.ts";
import { silentLog } from "../../../support/silent_log.ts";

let folder: string;
let clock: TestClock;
let running: Service;
let api: Client;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "restore-"));
  clock = testClock();
  await start();
});
afterEach(async () => {
  await running.close();
  rmSync(folder, { recursive: true });
});

const dataFolder = () => join(folder, "data");
const readHostValues = () => JSON.parse(readFileSync(join(folder, "product_config.json"), "utf8")).values.t1;

async function start(): Promise<void> {
  const log = silentLog;
  const store = await openFileStore({ path: join(dataFolder(), "state.json"), log, now: clock.now });
  const identity = { product_id: "acme-crm", instance_id: "acme-crm@local" };
  const adapter = fileAdapter({ path: join(folder, "product_config.json"), store, ...identity, clock });
  running = await countersign({ store, clock, log, intent: manifest({}), adapter });
  api = client(running.fetch);
}

/** Stops the service, runs an action on its files, and starts the service again. */
async function whileStopped(action: () => void): Promise<void> {
  await running.close();
  action();
  await start();
}

test("after a restore drift lists applied changes with other values in the file", async () => {
  const set = (target: string, value: number) => api.bring("applied", { target, value: String(value) });
  await set("a.b", 1);
  await set("a.d", 4);
  await set("a.same", 7);
  const waiting = await api.bring("approved", { target: "a.c", value: "1" });
  await whileStopped(() => cpSync(dataFolder(), join(folder, "backup"), { recursive: true }));
  await set("a.b", 2);
  await set("a.d", 5);
  await api.must("apply", waiting);
  await set("a.c", 9);
  await whileStopped(() => {
    rmSync(dataFolder(), { recursive: true });
    cpSync(join(folder, "backup"), dataFolder(), { recursive: true });
  });

  await running.cycle();
  const { body: drift } = await api.get("drift");
  expect(drift.in_sync).toBe(false);
  // In the restored log no change of `a.c` is applied, so its value in the file is no drift.
  expect(drift.drifted.map(({ target }: { target: string }) => target).sort()).toEqual(["a.b", "a.d"]);
  expect(readHostValues()).toEqual({ "a.b": 2, "a.d": 5, "a.same": 7, "a.c": 9 });

  await api.must("apply", waiting);
  expect(readHostValues()["a.c"]).toBe(1);
  await running.cycle();
  expect((await api.get("drift")).body.drifted).toHaveLength(2);
});
