/**
 * Crashes at each write of a restore or of its recovery: the next process corrects the log and leaves no lease. The target has
 * the value 7 after an edit, 2 after the restore, and its original text after a rollback.
 */
import { expect, test } from "vitest";
import type { ProductAdapter } from "../../../../lib/changes/operations/adapter_port.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import type { Store } from "../../../../lib/store/store.ts";
import { targetAdapter } from "../../../../lib/targets/adapter.ts";
import type { TargetSystem } from "../../../../lib/targets/port.ts";
import { MINUTE, testClock } from "../../../support/clock.ts";
import { core, type Core, makeCore } from "../../../support/core.ts";
import { restartDeps, type TestDeps } from "../../../support/deps.ts";
import { chainFault } from "../../../support/independent_chain.ts";
import { selectCases } from "../../../support/run_length.ts";
import { memoryTarget } from "../../../support/memory_target.ts";
import { type CrashPoint, CRASH_MOMENTS, crashAtWrite } from "../../../support/crash_at_write.ts";

const ENTRY = { tenant_id: "t1", target: "ui.a", kind: "config" } as const;
/** The original text of the target; parsing and rendering would change it, and a rollback restores each byte. */
const ORIGINAL_TEXT = '{ "old":  1.50 }';
const NO_CRASH: CrashPoint = { at: Infinity, when: "after" };

/** Creates a change with the value 2 whose target was set to 7, with functions to start processes that crash. */
async function openWithEditedTarget() {
  const clock = testClock();
  const store = memoryStore();
  const { system, overwrite, raw, faults } = memoryTarget();
  const hooks = { beforeRollback: () => {} };
  const makeAdapter = (adapterStore: Store, targetSystem: TargetSystem): ProductAdapter => {
    const adapter = targetAdapter(targetSystem, { store: adapterStore, clock });
    const rollback: ProductAdapter["rollback"] = (...request) => {
      hooks.beforeRollback();
      return adapter.rollback(...request);
    };
    return { ...adapter, rollback };
  };
  const first = await core({ store, clock, adapter: makeAdapter(store, system) });
  overwrite(ENTRY, ORIGINAL_TEXT);
  const change_id = await first.bring("applied", { target: "ui.a", value: "2" });
  overwrite(ENTRY, "7");
  /** Runs an action in another process, which crashes at `crashPoint`; returns false if the action ended before. */
  const runUntilCrash = async (crashPoint: CrashPoint, action: (api: Core) => Promise<unknown>): Promise<boolean> => {
    const { store: crashingStore, system: crashingSystem, hasCrashed } = crashAtWrite(store, system, crashPoint);
    try {
      await action(await start(makeAdapter(crashingStore, crashingSystem), crashingStore));
    } catch (error) {
      if (!hasCrashed()) throw error;
    }
    return hasCrashed();
  };
  const start = async (adapter: ProductAdapter, processStore: Store): Promise<Core> =>
    makeCore(await restartDeps({ ...first.deps, store: processStore } as TestDeps, { adapter, exclusive: true }));
  return {
    change_id,
    first,
    runUntilCrash,
    start: () => start(makeAdapter(store, system), store),
    passTwentyMinutes: () => clock.advance(20 * MINUTE),
    leases: () => store.list("leases", { limit: 9 }),
    failNextWrite: (fault: "lost answer" | "lost request") => void faults.push(fault),
    /** Lets the unanswered write of the value take effect right before the next rollback. */
    writeBeforeRollback: () =>
      void (hooks.beforeRollback = () => {
        hooks.beforeRollback = () => {};
        overwrite(ENTRY, "2");
      }),
    value: () => raw(ENTRY),
    restore: (api: Core) => api.post("restore", { change_id, actor: "ops" }),
    rollback: (api: Core, fields: object = {}) => api.post("rollback", { change_id, actor: "ops", ...fields }),
  };
}
type Setup = Awaited<ReturnType<typeof openWithEditedTarget>>;

/** Checks the log and the value after a crash, and that a rollback then succeeds. */
async function checkAfterCrash({
  start,
  restore,
  rollback,
  passTwentyMinutes,
  value,
  leases,
  first,
}: Setup): Promise<void> {
  const api = await start();
  // By then the lease of the crashed process has expired.
  passTwentyMinutes();
  await api.cycle();
  const [lease] = await leases();
  const countRestores = async () =>
    (await api.audit()).filter(({ event_type }) => event_type === "value_restored").length;
  if (lease) {
    // The rollback crashed while the edit was in place, and can be repeated; the late write takes effect before the repetition.
    expect([lease.value.operation, value(), await countRestores()]).toEqual(["rollback", "7", 0]);
    expect((await rollback(api, { over_drift: "true", note: "n" })).status).toBe(200);
    return expect([value(), await countRestores(), await leases()]).toEqual([ORIGINAL_TEXT, 1, []]);
  }
  if (value() !== ORIGINAL_TEXT) {
    expect([value(), await countRestores()]).toEqual(value() === "7" ? ["7", 0] : ["2", 1]);
    if (value() === "7") expect((await restore(api)).status).toBe(200);
    expect((await rollback(api)).status).toBe(200);
  }
  expect([value(), await countRestores()]).toEqual([ORIGINAL_TEXT, 1]);
  expect((await api.audit()).at(-1).event_type).toBe("change_rolled_back");
  expect(chainFault(await first.audit())).toBeNull();
}

/** Crashes a process before and after each of its writes; returns the number of crashes. */
async function crashAtEachWrite(
  action: (api: Core, setup: Setup) => Promise<unknown>,
  prepare: (setup: Setup) => Promise<unknown> = async () => undefined,
): Promise<number> {
  let crashes = 0;
  for (const when of selectCases(CRASH_MOMENTS, 1))
    for (let at = 1, hasFinished = false; !hasFinished; at++) {
      const setup = await openWithEditedTarget();
      await prepare(setup);
      hasFinished = !(await setup.runUntilCrash({ at, when }, (api) => action(api, setup)));
      if (!hasFinished) crashes++;
      await checkAfterCrash(setup);
    }
  return crashes;
}

test("after a crash at any write of a restore the log agrees with the value on the target", async () => {
  expect(await crashAtEachWrite((api, { restore }) => restore(api))).toBeGreaterThanOrEqual(6);
});

test("after a crash at any write of the recovery the log agrees with the value", async () => {
  const interruptRestore = ({ runUntilCrash, restore, failNextWrite }: Setup) => {
    failNextWrite("lost answer");
    return runUntilCrash(NO_CRASH, restore);
  };
  expect(await crashAtEachWrite((api) => api.cycle(), interruptRestore)).toBeGreaterThanOrEqual(2);
});

test("a crash at any write of a rollback after an unanswered restore leaves one entry of each", async () => {
  const leaveRestoreUnanswered = async ({ runUntilCrash, restore, failNextWrite, writeBeforeRollback }: Setup) => {
    failNextWrite("lost request");
    await runUntilCrash(NO_CRASH, restore);
    writeBeforeRollback();
  };
  expect(await crashAtEachWrite((api, { rollback }) => rollback(api), leaveRestoreUnanswered)).toBeGreaterThanOrEqual(
    4,
  );
});
