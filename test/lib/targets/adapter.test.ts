/** The adapter of target systems: durable intention, exact rollback, unknown outcomes, edits by other programs. */
import { expect, test } from "vitest";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { Unanswered } from "../../../lib/kit/time_limit.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import type { SetResult, TargetSystem } from "../../../lib/targets/port.ts";
import { memoryTarget } from "../../support/memory_target.ts";
import { crashAtWrite } from "../../support/mortal.ts";

const calm = new AbortController().signal;
const clock = { now: () => Date.UTC(2026, 0, 2) };

/** Text that another program wrote: parsing and rendering it would change every part of it. */
const FOREIGN = '{ "10": 1.0, "9": 1e2,\n  "b": "\\u00e9" }';

const change = (change_id: string, over: Partial<Change> = {}): Change =>
  ({ change_id, tenant_id: "t1", kind: "config", target: "limits.seats", value: { by: change_id }, ...over }) as Change;

const [a, b, c] = [change("chg_a"), change("chg_b"), change("chg_c")];

function bench(over: { store?: Store; system?: (whole: TargetSystem) => Partial<TargetSystem> } = {}) {
  const store = over.store ?? memoryStore();
  const target = memoryTarget();
  const system = { ...target.system, ...over.system?.(target.system) };
  const adapter = targetAdapter(system, { store, clock });
  return {
    ...target,
    store,
    adapter,
    apply: (one: Change) => adapter.apply(one, calm),
    rollback: async (one: Change) => (await adapter.rollback({ ...one, status: "applied" }, calm)).result,
    verify: (one: Change) => adapter.verify(one, calm),
    held: () => target.raw(a),
    effect: async (one: Change) => (await store.get("effects", one.change_id))?.value,
  };
}

test("the replaced value and its text are durable before the write", async () => {
  const { apply, overwrite, edits, effect, held, store } = bench();
  overwrite(a, FOREIGN);
  const seen: unknown[] = [];
  const look = () => void effect(a).then((record) => seen.push(record?.state, record?.previous?.raw, held()));
  edits.push(look);
  await apply(a);
  expect(seen).toEqual(["pending", FOREIGN, expect.any(String)]);
  await store.close();
  await expect(apply(b)).rejects.toMatchObject({ name: "StoreUnavailable" });
  expect(held()).toBe('{"by":"chg_a"}');
});

test("the record of a rollback is durable before its write", async () => {
  const { apply, rollback, edits, effect } = bench();
  await apply(a);
  const states: unknown[] = [];
  edits.push(() => void effect(a).then((record) => states.push(record?.state)));
  await rollback(a);
  expect(states).toEqual(["rolling_back"]);
});

test("a rollback restores the replaced text to the byte, and removes a value that was not there", async () => {
  const { apply, rollback, verify, overwrite, held } = bench();
  await apply(a);
  expect(await rollback(a)).toBe("rolled_back");
  expect([held(), await verify(a)]).toEqual([undefined, "rolled_back"]);
  overwrite(a, FOREIGN);
  await apply(b);
  expect(await rollback(b)).toBe("rolled_back");
  expect(held()).toBe(FOREIGN);
});

test("the value that a superseded change replaced passes to the later change unchanged", async () => {
  const { apply, rollback, verify, overwrite, held } = bench();
  overwrite(a, FOREIGN);
  for (const one of [a, b, c]) await apply(one);
  expect([await rollback(a), await rollback(b)]).toEqual(["superseded", "superseded"]);
  expect([held(), await verify(c), await verify(b)]).toEqual(['{"by":"chg_c"}', "applied", "rolled_back"]);
  expect(await rollback(c)).toBe("rolled_back");
  expect(held()).toBe(FOREIGN);
});

test("a rollback restores an edit that was made between read and write", async () => {
  const { apply, rollback, overwrite, edits, held } = bench();
  edits.push(() => overwrite(a, FOREIGN));
  expect((await apply(a)).previous).toEqual({ value: JSON.parse(FOREIGN) });
  expect(held()).toBe('{"by":"chg_a"}');
  await rollback(a);
  expect(held()).toBe(FOREIGN);
});

test("a target that changes at every try is not set", async () => {
  const { apply, overwrite, edits, held } = bench();
  let edit = 0;
  for (let i = 0; i < 9; i++) edits.push(() => overwrite(a, String(++edit)));
  await expect(apply(a)).rejects.toThrow("changed by another program at every try");
  expect(held()).toBe("5");
});

test("a value that another program set is reported, and no rollback overwrites it", async () => {
  const { apply, rollback, verify, overwrite, held } = bench();
  await apply(a);
  overwrite(a, FOREIGN);
  expect(await verify(a)).toBe("unknown");
  await expect(rollback(a)).rejects.toMatchObject({ name: "TargetDrifted" });
  expect(held()).toBe(FOREIGN);
  overwrite(a, undefined);
  expect(await verify(a)).toBe("absent");
  expect(await rollback(a)).toBe("rolled_back");
});

test("a rollback detects an edit right before its write", async () => {
  const { apply, rollback, verify, overwrite, edits, held } = bench();
  await apply(a);
  edits.push(() => overwrite(a, FOREIGN));
  await expect(rollback(a)).rejects.toMatchObject({ name: "TargetDrifted" });
  expect([held(), await verify(a)]).toEqual([FOREIGN, "unknown"]);
  overwrite(a, '{"by":"chg_a"}');
  expect([await rollback(a), held()]).toEqual(["rolled_back", undefined]);
});

test("a write whose answer was lost shows as applied, and its rollback is exact", async () => {
  const { apply, rollback, verify, overwrite, faults, held } = bench();
  overwrite(a, FOREIGN);
  faults.push("lost answer");
  await expect(apply(a)).rejects.toBeInstanceOf(Unanswered);
  expect(await verify(a)).toBe("applied");
  faults.push("lost answer");
  await expect(rollback(a)).rejects.toBeInstanceOf(Unanswered);
  expect([await verify(a), held()]).toEqual(["rolled_back", FOREIGN]);
  expect(await rollback(a)).toBe("rolled_back");
});

test("a write that was lost shows as absent, and may be tried again", async () => {
  const { apply, rollback, verify, overwrite, faults, held } = bench();
  overwrite(a, FOREIGN);
  faults.push("lost request");
  await expect(apply(a)).rejects.toBeInstanceOf(Unanswered);
  expect(await verify(a)).toBe("absent");
  expect(await apply(a)).toMatchObject({ result: "applied", previous: { value: JSON.parse(FOREIGN) } });
  faults.push("lost request");
  await expect(rollback(a)).rejects.toBeInstanceOf(Unanswered);
  expect(await verify(a)).toBe("applied");
  await rollback(a);
  expect(held()).toBe(FOREIGN);
});

test("a late write does not become its own previous value", async () => {
  const { apply, rollback, overwrite, faults, held } = bench();
  overwrite(a, FOREIGN);
  faults.push("lost request");
  await expect(apply(a)).rejects.toBeInstanceOf(Unanswered);
  overwrite(a, '{"by":"chg_a"}');
  expect((await apply(a)).previous).toEqual({ value: JSON.parse(FOREIGN) });
  await rollback(a);
  expect(held()).toBe(FOREIGN);
});

test("an open attempt of another change is resolved before a target is set", async () => {
  const { apply, rollback, verify, overwrite, faults, held } = bench();
  overwrite(a, FOREIGN);
  faults.push("lost answer");
  await expect(apply(a)).rejects.toBeInstanceOf(Unanswered);
  expect((await apply(b)).previous).toEqual({ value: { by: "chg_a" } });
  expect(await rollback(a)).toBe("superseded");
  await rollback(b);
  expect([held(), await verify(a)]).toEqual([FOREIGN, "rolled_back"]);
});

test("while the result of an attempt is unknown, no other operation sets the target", async () => {
  let said: "done" | "not_done" | "open" = "open";
  const { apply, rollback, verify, faults, held } = bench({ system: () => ({ resolve: async () => said }) });
  faults.push("lost request");
  await expect(apply(a)).rejects.toBeInstanceOf(Unanswered);
  expect(await verify(a)).toBe("unknown");
  for (const operation of [apply(a), apply(b), rollback(a)]) await expect(operation).rejects.toThrow("chg_a");
  expect(held()).toBeUndefined();
  said = "not_done";
  expect(await verify(a)).toBe("absent");
  await apply(b);
  expect(held()).toBe('{"by":"chg_b"}');
});

test("an apply first resolves an earlier attempt whose write may still arrive", async () => {
  let said: "not_done" | "open" = "open";
  const { apply, rollback, overwrite, faults } = bench({ system: () => ({ resolve: async () => said }) });
  await apply(a);
  overwrite(a, FOREIGN);
  faults.push("lost request");
  await expect(apply(a)).rejects.toBeInstanceOf(Unanswered);
  for (const operation of [apply(a), apply(b), rollback(a)]) await expect(operation).rejects.toThrow("chg_a");
  said = "not_done";
  expect((await apply(b)).previous).toEqual({ value: JSON.parse(FOREIGN) });
});

test("an ended attempt is resolved by the current value if the system knows nothing else", async () => {
  const { apply, rollback, verify, overwrite, faults, held } = bench({
    system: () => ({ resolve: async () => undefined }),
  });
  overwrite(a, FOREIGN);
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
  expect(held()).toBe('"a third value"');
});

test("an attempt that lost to an edit has ended: other changes of the target do not wait for it", async () => {
  const { apply, rollback, verify, overwrite, edits, effect, held } = bench();
  await apply(a);
  edits.push(() => overwrite(a, FOREIGN));
  await expect(rollback(a)).rejects.toMatchObject({ name: "TargetDrifted" });
  expect((await effect(a))?.state).toBe("applied");
  expect((await apply(b)).previous).toEqual({ value: JSON.parse(FOREIGN) });
  for (let tries = 0; tries < 5; tries++) edits.push(() => overwrite(a, String(tries)));
  await expect(apply(c)).rejects.toThrow("changed by another program at every try");
  expect([await effect(c), await verify(c), held()]).toEqual([undefined, "absent", "4"]);
  expect(await rollback(a)).toBe("superseded");
});

test("a rollback that did nothing stays undone when a later change takes the target", async () => {
  const { apply, rollback, verify, faults, held } = bench();
  await apply(a);
  faults.push("lost request");
  await expect(rollback(a)).rejects.toBeInstanceOf(Unanswered);
  await apply(b);
  expect(await verify(a)).toBe("applied");
  await rollback(b);
  expect([held(), await verify(a), await verify(b)]).toEqual(['{"by":"chg_a"}', "applied", "rolled_back"]);
});

test("a value that the system rejects leaves no record", async () => {
  const { apply, verify, faults, effect, held, rollback } = bench();
  await apply(a);
  faults.push("rejected");
  await expect(apply(b)).rejects.toThrow("the system rejects this value");
  expect([await verify(b), await effect(b), held()]).toEqual(["absent", undefined, '{"by":"chg_a"}']);
  faults.push("rejected");
  await expect(rollback(a)).rejects.toThrow("the system rejects this value");
  expect(await verify(a)).toBe("applied");
});

test("an edit that a write overwrote is reported by apply, repeated apply and rollback", async () => {
  const overwrote = { value: "an edit in between", version: "9" };
  const { adapter, overwrite } = bench({
    system: ({ compareAndSet }) => ({
      compareAndSet: async (...given) => ({ ...(await compareAndSet(...given)), overwrote }) as SetResult,
    }),
  });
  const detail = { overwrote: expect.stringMatching(/^[0-9a-f]{64}$/) };
  expect(await adapter.apply(a, calm)).toMatchObject({ result: "applied", detail });
  expect(await adapter.apply(a, calm)).not.toHaveProperty("detail");
  overwrite(a, undefined);
  expect(await adapter.apply(a, calm)).toMatchObject({ result: "applied", detail });
  expect(await adapter.rollback({ ...a, status: "applied" }, calm)).toMatchObject({ result: "rolled_back", detail });
});

test("an applied change whose value was lost is set again, and keeps what it replaced", async () => {
  const { apply, rollback, overwrite, held } = bench();
  overwrite(a, FOREIGN);
  await apply(a);
  overwrite(a, '"lost"');
  expect((await apply(a)).previous).toEqual({ value: JSON.parse(FOREIGN) });
  expect(held()).toBe('{"by":"chg_a"}');
  await rollback(a);
  expect(held()).toBe(FOREIGN);
});

test("a target keeps the spelling with which it was first applied", async () => {
  const { apply, rollback, raw } = bench();
  await apply(a);
  const loud = change("chg_l", { target: "LIMITS.Seats" });
  await apply(loud);
  expect([raw(loud), raw(a)]).toEqual([undefined, '{"by":"chg_l"}']);
  expect(await rollback(a)).toBe("superseded");
});

test("a change without a value is rejected by a system that stores values only", async () => {
  const { adapter, apply } = bench();
  const silent = change("chg_s");
  delete silent.value;
  expect(await adapter.validate(silent, calm)).toEqual({
    ok: false,
    reason: expect.stringContaining("a value is needed"),
  });
  await expect(apply(silent)).rejects.toThrow("a value is needed");
});

test("a dry run names the location and the guard of the system", async () => {
  const { adapter, overwrite } = bench();
  overwrite(a, FOREIGN);
  expect(await adapter.validate(a, calm)).toEqual({
    ok: true,
    preview: {
      place: 'memory ["t1","limits.seats"]',
      guard: "atomic",
      before: JSON.parse(FOREIGN),
      after: { by: "chg_a" },
      present_before: true,
    },
  });
});

test("erased content is removed from stored effects, also where another attempt has read it", async () => {
  const { adapter, apply, rollback, faults, store } = bench();
  const secret = change("chg_s", { value: "wombat" });
  await apply(secret);
  faults.push("lost request");
  await expect(apply(b)).rejects.toBeInstanceOf(Unanswered);
  expect(JSON.stringify(await store.list("effects", { limit: 10 }))).toContain("wombat");
  await rollback(secret);
  await adapter.forget!(secret, calm);
  expect(JSON.stringify(await store.list("effects", { limit: 10 }))).not.toContain("wombat");
});

test.each([
  ["first apply", [], "apply", a, FOREIGN, '{"by":"chg_a"}'],
  ["apply over another", [a], "apply", b, '{"by":"chg_a"}', '{"by":"chg_b"}'],
  ["rollback of the latest", [a, b], "rollback", b, '{"by":"chg_b"}', '{"by":"chg_a"}'],
  ["rollback of a superseded change", [a, b], "rollback", a, '{"by":"chg_b"}', '{"by":"chg_b"}'],
] as const)("a process that crashes at any step loses nothing: %s", async (_, earlier, operation, one, was, is) => {
  for (const when of ["before", "after"] as const)
    for (let at = 1, alive = true; alive; at++) {
      const { system, store, overwrite, held, apply, rollback, verify } = bench();
      overwrite(a, FOREIGN);
      for (const before of earlier) await apply(before);
      const dying = crashAtWrite(store, system, { at, when });
      const adapter = targetAdapter(dying.system, { store: dying.store, clock });
      await adapter[operation]({ ...one, status: operation === "apply" ? "approved" : "applied" }, calm).catch(
        () => undefined,
      );
      alive = dying.died();

      const state = await verify(one);
      expect([was, is]).toContain(held());
      if (was !== is)
        expect(state).toBe(
          held() === is
            ? operation === "apply"
              ? "applied"
              : "rolled_back"
            : operation === "apply"
              ? "absent"
              : "applied",
        );
      await (operation === "apply" ? apply(one) : rollback(one));
      expect(held()).toBe(is);
      for (const last of [b, a]) if (earlier.includes(last as never) || last === one) await rollback(last);
      expect(held()).toBe(FOREIGN);
    }
});
