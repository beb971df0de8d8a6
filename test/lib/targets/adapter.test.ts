/** The adapter of target systems: durable intention, exact rollback, unknown outcomes, edits by other programs. */
import { expect, test } from "vitest";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { Unanswered } from "../../../lib/kit/time_limit.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import type { SetResult, TargetSystem } from "../../../lib/targets/port.ts";
import { memoryTarget } from "../../support/memory_target.ts";
import { crashAtWrite } from "../../support/crash_at_write.ts";

const neverAborted = new AbortController().signal;
const clock = { now: () => Date.UTC(2026, 0, 2) };

/** Text that another program wrote; parsing and formatting the JSON would change its bytes. */
const FOREIGN_TEXT = '{ "10": 1.0, "9": 1e2,\n  "b": "\\u00e9" }';

const makeChange = (change_id: string, fields: Partial<Change> = {}): Change =>
  ({
    change_id,
    tenant_id: "t1",
    kind: "config",
    target: "limits.seats",
    value: { by: change_id },
    ...fields,
  }) as Change;

/** Three changes of one target. */
const [a, b, c] = [makeChange("chg_a"), makeChange("chg_b"), makeChange("chg_c")];

/**
 * Opens an adapter on a target system in memory; `options.system` replaces methods of the system. A test pushes edits and faults:
 * each write runs one of `edits` before it compares, and meets one of `faults`. `effect` reads the adapter's record of a change.
 */
function openAdapter(options: { store?: Store; system?: (system: TargetSystem) => Partial<TargetSystem> } = {}) {
  const store = options.store ?? memoryStore();
  const target = memoryTarget();
  const system = { ...target.system, ...options.system?.(target.system) };
  const adapter = targetAdapter(system, { store, clock });
  return {
    ...target,
    store,
    adapter,
    apply: (applied: Change) => adapter.apply(applied, neverAborted),
    rollback: async (applied: Change) =>
      (await adapter.rollback({ ...applied, status: "applied" }, neverAborted)).result,
    verify: (verified: Change) => adapter.verify(verified, neverAborted),
    readText: () => target.raw(a),
    effect: async ({ change_id }: Change) => (await store.get("effects", change_id))?.value,
  };
}

test("the replaced value and its text are durable before the write", async () => {
  const { apply, overwrite, edits, effect, readText, store } = openAdapter();
  overwrite(a, FOREIGN_TEXT);
  const observed: unknown[] = [];
  const readEffect = () =>
    void effect(a).then((record) => observed.push(record?.state, record?.previous?.raw, readText()));
  edits.push(readEffect);
  await apply(a);
  // The write itself may have been made when the effect had been read.
  expect(observed).toEqual(["pending", FOREIGN_TEXT, expect.any(String)]);
  await store.close();
  await expect(apply(b)).rejects.toMatchObject({ name: "StoreUnavailable" });
  expect(readText()).toBe('{"by":"chg_a"}');
});

test("the record of a rollback is durable before its write", async () => {
  const { apply, rollback, edits, effect } = openAdapter();
  await apply(a);
  const states: unknown[] = [];
  edits.push(() => void effect(a).then((record) => states.push(record?.state)));
  await rollback(a);
  expect(states).toEqual(["rolling_back"]);
});

test("a rollback restores the replaced text to the byte, and removes a value that was not there", async () => {
  const { apply, rollback, verify, overwrite, readText } = openAdapter();
  await apply(a);
  expect(await rollback(a)).toBe("rolled_back");
  expect([readText(), await verify(a)]).toEqual([undefined, "rolled_back"]);
  overwrite(a, FOREIGN_TEXT);
  await apply(b);
  expect(await rollback(b)).toBe("rolled_back");
  expect(readText()).toBe(FOREIGN_TEXT);
});

test("the value that a superseded change replaced passes to the later change unchanged", async () => {
  const { apply, rollback, verify, overwrite, readText } = openAdapter();
  overwrite(a, FOREIGN_TEXT);
  for (const applied of [a, b, c]) await apply(applied);
  expect([await rollback(a), await rollback(b)]).toEqual(["superseded", "superseded"]);
  expect([readText(), await verify(c), await verify(b)]).toEqual(['{"by":"chg_c"}', "applied", "rolled_back"]);
  expect(await rollback(c)).toBe("rolled_back");
  expect(readText()).toBe(FOREIGN_TEXT);
});

test("a rollback restores an edit that was made between read and write", async () => {
  const { apply, rollback, overwrite, edits, readText } = openAdapter();
  edits.push(() => overwrite(a, FOREIGN_TEXT));
  expect((await apply(a)).previous).toEqual({ value: JSON.parse(FOREIGN_TEXT) });
  expect(readText()).toBe('{"by":"chg_a"}');
  await rollback(a);
  expect(readText()).toBe(FOREIGN_TEXT);
});

test("a target that changes before each attempt is not set", async () => {
  const { apply, overwrite, edits, readText } = openAdapter();
  let edit = 0;
  for (let count = 0; count < 9; count++) edits.push(() => overwrite(a, String(++edit)));
  await expect(apply(a)).rejects.toThrow("changed by another program at every try");
  // The value of the fifth edit: the adapter makes five attempts.
  expect(readText()).toBe("5");
});

test("a value that another program set is reported, and no rollback overwrites it", async () => {
  const { apply, rollback, verify, overwrite, readText } = openAdapter();
  await apply(a);
  overwrite(a, FOREIGN_TEXT);
  expect(await verify(a)).toBe("unknown");
  await expect(rollback(a)).rejects.toMatchObject({ name: "TargetDrifted" });
  expect(readText()).toBe(FOREIGN_TEXT);
  overwrite(a, undefined);
  expect(await verify(a)).toBe("absent");
  expect(await rollback(a)).toBe("rolled_back");
});

test("a rollback detects an edit right before its write", async () => {
  const { apply, rollback, verify, overwrite, edits, readText } = openAdapter();
  await apply(a);
  edits.push(() => overwrite(a, FOREIGN_TEXT));
  await expect(rollback(a)).rejects.toMatchObject({ name: "TargetDrifted" });
  expect([readText(), await verify(a)]).toEqual([FOREIGN_TEXT, "unknown"]);
  overwrite(a, '{"by":"chg_a"}');
  expect([await rollback(a), readText()]).toEqual(["rolled_back", undefined]);
});

test("a write whose answer was lost shows as applied, and its rollback is exact", async () => {
  const { apply, rollback, verify, overwrite, faults, readText } = openAdapter();
  overwrite(a, FOREIGN_TEXT);
  faults.push("lost answer");
  await expect(apply(a)).rejects.toBeInstanceOf(Unanswered);
  expect(await verify(a)).toBe("applied");
  faults.push("lost answer");
  await expect(rollback(a)).rejects.toBeInstanceOf(Unanswered);
  expect([await verify(a), readText()]).toEqual(["rolled_back", FOREIGN_TEXT]);
  expect(await rollback(a)).toBe("rolled_back");
});

test("a write that was lost shows as absent, and may be tried again", async () => {
  const { apply, rollback, verify, overwrite, faults, readText } = openAdapter();
  overwrite(a, FOREIGN_TEXT);
  faults.push("lost request");
  await expect(apply(a)).rejects.toBeInstanceOf(Unanswered);
  expect(await verify(a)).toBe("absent");
  expect(await apply(a)).toMatchObject({ result: "applied", previous: { value: JSON.parse(FOREIGN_TEXT) } });
  faults.push("lost request");
  await expect(rollback(a)).rejects.toBeInstanceOf(Unanswered);
  expect(await verify(a)).toBe("applied");
  await rollback(a);
  expect(readText()).toBe(FOREIGN_TEXT);
});

test("a late write does not become its own previous value", async () => {
  const { apply, rollback, overwrite, faults, readText } = openAdapter();
  overwrite(a, FOREIGN_TEXT);
  faults.push("lost request");
  await expect(apply(a)).rejects.toBeInstanceOf(Unanswered);
  overwrite(a, '{"by":"chg_a"}');
  expect((await apply(a)).previous).toEqual({ value: JSON.parse(FOREIGN_TEXT) });
  await rollback(a);
  expect(readText()).toBe(FOREIGN_TEXT);
});

test("an open attempt of another change is resolved before a target is set", async () => {
  const { apply, rollback, verify, overwrite, faults, readText } = openAdapter();
  overwrite(a, FOREIGN_TEXT);
  faults.push("lost answer");
  await expect(apply(a)).rejects.toBeInstanceOf(Unanswered);
  expect((await apply(b)).previous).toEqual({ value: { by: "chg_a" } });
  expect(await rollback(a)).toBe("superseded");
  await rollback(b);
  expect([readText(), await verify(a)]).toEqual([FOREIGN_TEXT, "rolled_back"]);
});

test("while the result of an attempt is unknown, no other operation sets the target", async () => {
  let resolution: "done" | "not_done" | "open" = "open";
  const { apply, rollback, verify, faults, readText } = openAdapter({
    system: () => ({ resolve: async () => resolution }),
  });
  faults.push("lost request");
  await expect(apply(a)).rejects.toBeInstanceOf(Unanswered);
  expect(await verify(a)).toBe("unknown");
  for (const operation of [apply(a), apply(b), rollback(a)]) await expect(operation).rejects.toThrow("chg_a");
  expect(readText()).toBeUndefined();
  resolution = "not_done";
  expect(await verify(a)).toBe("absent");
  await apply(b);
  expect(readText()).toBe('{"by":"chg_b"}');
});

test("an apply first resolves an earlier attempt whose write may still arrive", async () => {
  let resolution: "not_done" | "open" = "open";
  const { apply, rollback, overwrite, faults } = openAdapter({ system: () => ({ resolve: async () => resolution }) });
  await apply(a);
  overwrite(a, FOREIGN_TEXT);
  faults.push("lost request");
  await expect(apply(a)).rejects.toBeInstanceOf(Unanswered);
  for (const operation of [apply(a), apply(b), rollback(a)]) await expect(operation).rejects.toThrow("chg_a");
  resolution = "not_done";
  expect((await apply(b)).previous).toEqual({ value: JSON.parse(FOREIGN_TEXT) });
});

test("an ended attempt is resolved by the current value if the system knows nothing else", async () => {
  const { apply, rollback, verify, overwrite, faults, readText } = openAdapter({
    system: () => ({ resolve: async () => undefined }),
  });
  overwrite(a, FOREIGN_TEXT);
  faults.push("lost request", "lost answer");
  for (const state of ["absent", "applied"]) {
    await expect(apply(a)).rejects.toBeInstanceOf(Unanswered);
    expect(await verify(a)).toBe(state);
  }
  faults.push("lost answer");
  await expect(apply(b)).rejects.toBeInstanceOf(Unanswered);
  overwrite(a, '"a third value"');
  expect(await verify(b)).toBe("unknown");
  expect((await apply(b)).previous).toEqual({ value: "a third value" });
  await rollback(b);
  expect(readText()).toBe('"a third value"');
});

test("an attempt that lost to an edit has ended: other changes of the target do not wait for it", async () => {
  const { apply, rollback, verify, overwrite, edits, effect, readText } = openAdapter();
  await apply(a);
  edits.push(() => overwrite(a, FOREIGN_TEXT));
  await expect(rollback(a)).rejects.toMatchObject({ name: "TargetDrifted" });
  expect((await effect(a))?.state).toBe("applied");
  expect((await apply(b)).previous).toEqual({ value: JSON.parse(FOREIGN_TEXT) });
  for (let tries = 0; tries < 5; tries++) edits.push(() => overwrite(a, String(tries)));
  await expect(apply(c)).rejects.toThrow("changed by another program at every try");
  expect([await effect(c), await verify(c), readText()]).toEqual([undefined, "absent", "4"]);
  expect(await rollback(a)).toBe("superseded");
});

test("a rollback whose request was lost is not done, also after a later change of the target", async () => {
  const { apply, rollback, verify, faults, readText } = openAdapter();
  await apply(a);
  faults.push("lost request");
  await expect(rollback(a)).rejects.toBeInstanceOf(Unanswered);
  await apply(b);
  expect(await verify(a)).toBe("applied");
  await rollback(b);
  expect([readText(), await verify(a), await verify(b)]).toEqual(['{"by":"chg_a"}', "applied", "rolled_back"]);
});

test("a value that the system rejects leaves no record", async () => {
  const { apply, verify, faults, effect, readText, rollback } = openAdapter();
  await apply(a);
  faults.push("rejected");
  await expect(apply(b)).rejects.toThrow("the system rejects this value");
  expect([await verify(b), await effect(b), readText()]).toEqual(["absent", undefined, '{"by":"chg_a"}']);
  faults.push("rejected");
  await expect(rollback(a)).rejects.toThrow("the system rejects this value");
  expect(await verify(a)).toBe("applied");
});

test("an edit that a write overwrote is reported by apply, repeated apply and rollback", async () => {
  const overwrote = { value: "an edit in between", version: "9" };
  const { adapter, overwrite } = openAdapter({
    system: ({ compareAndSet }) => ({
      compareAndSet: async (...args) => ({ ...(await compareAndSet(...args)), overwrote }) as SetResult,
    }),
  });
  const detail = { overwrote: expect.stringMatching(/^[0-9a-f]{64}$/) };
  expect(await adapter.apply(a, neverAborted)).toMatchObject({ result: "applied", detail });
  // The value is there already, so nothing is written.
  expect(await adapter.apply(a, neverAborted)).not.toHaveProperty("detail");
  overwrite(a, undefined);
  expect(await adapter.apply(a, neverAborted)).toMatchObject({ result: "applied", detail });
  expect(await adapter.rollback({ ...a, status: "applied" }, neverAborted)).toMatchObject({
    result: "rolled_back",
    detail,
  });
});

test("an applied change whose value was lost is set again, and keeps its replaced value", async () => {
  const { apply, rollback, overwrite, readText } = openAdapter();
  overwrite(a, FOREIGN_TEXT);
  await apply(a);
  overwrite(a, '"lost"');
  expect((await apply(a)).previous).toEqual({ value: JSON.parse(FOREIGN_TEXT) });
  expect(readText()).toBe('{"by":"chg_a"}');
  await rollback(a);
  expect(readText()).toBe(FOREIGN_TEXT);
});

test("a target keeps the spelling with which it was first applied", async () => {
  const { apply, rollback, raw } = openAdapter();
  await apply(a);
  const upperCase = makeChange("chg_l", { target: "LIMITS.Seats" });
  await apply(upperCase);
  expect([raw(upperCase), raw(a)]).toEqual([undefined, '{"by":"chg_l"}']);
  expect(await rollback(a)).toBe("superseded");
});

test("a change without a value is rejected by a system that stores values only", async () => {
  const { adapter, apply } = openAdapter();
  const withoutValue = makeChange("chg_s");
  delete withoutValue.value;
  expect(await adapter.validate(withoutValue, neverAborted)).toEqual({
    ok: false,
    reason: expect.stringContaining("a value is needed"),
  });
  await expect(apply(withoutValue)).rejects.toThrow("a value is needed");
});

test("a dry run names the location and the guard of the system", async () => {
  const { adapter, overwrite } = openAdapter();
  overwrite(a, FOREIGN_TEXT);
  expect(await adapter.validate(a, neverAborted)).toEqual({
    ok: true,
    preview: {
      place: 'memory ["t1","limits.seats"]',
      guard: "atomic",
      before: JSON.parse(FOREIGN_TEXT),
      after: { by: "chg_a" },
      present_before: true,
    },
  });
});

test("erased content is removed from stored effects, also where another attempt has read it", async () => {
  const { adapter, apply, rollback, faults, store } = openAdapter();
  const secret = makeChange("chg_s", { value: "wombat" });
  await apply(secret);
  faults.push("lost request");
  await expect(apply(b)).rejects.toBeInstanceOf(Unanswered);
  expect(JSON.stringify(await store.list("effects", { limit: 10 }))).toContain("wombat");
  await rollback(secret);
  await adapter.forget!(secret, neverAborted);
  expect(JSON.stringify(await store.list("effects", { limit: 10 }))).not.toContain("wombat");
});

test.each([
  ["first apply", [], "apply", a, FOREIGN_TEXT, '{"by":"chg_a"}'],
  ["apply over another", [a], "apply", b, '{"by":"chg_a"}', '{"by":"chg_b"}'],
  ["rollback of the latest", [a, b], "rollback", b, '{"by":"chg_b"}', '{"by":"chg_a"}'],
  ["rollback of a superseded change", [a, b], "rollback", a, '{"by":"chg_b"}', '{"by":"chg_b"}'],
] as const)("a crash at any step loses nothing: %s", async (_, earlier, operation, changed, textBefore, textAfter) => {
  for (const when of ["before", "after"] as const)
    // Crashes at the first write, at the second, and so on, until the operation ends without a crash.
    for (let at = 1, hasCrashed = true; hasCrashed; at++) {
      const { system, store, overwrite, readText, apply, rollback, verify } = openAdapter();
      overwrite(a, FOREIGN_TEXT);
      for (const previous of earlier) await apply(previous);
      const crashing = crashAtWrite(store, system, { at, when });
      const adapter = targetAdapter(crashing.system, { store: crashing.store, clock });
      await adapter[operation](
        { ...changed, status: operation === "apply" ? "approved" : "applied" },
        neverAborted,
      ).catch(() => undefined);
      hasCrashed = crashing.hasCrashed();

      const state = await verify(changed);
      expect([textBefore, textAfter]).toContain(readText());
      const [stateBefore, stateAfter] = operation === "apply" ? ["absent", "applied"] : ["applied", "rolled_back"];
      // If the operation does not change the text, the text does not show how far it came.
      if (textBefore !== textAfter) expect(state).toBe(readText() === textAfter ? stateAfter : stateBefore);
      await (operation === "apply" ? apply(changed) : rollback(changed));
      expect(readText()).toBe(textAfter);
      // With all changes rolled back, the latest first, the first text is there again.
      for (const last of [b, a]) if (earlier.includes(last as never) || last === changed) await rollback(last);
      expect(readText()).toBe(FOREIGN_TEXT);
    }
});
