/** The promises of every target system, as named cases. */
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import type { AttemptContext, Entry, SetResult, TargetSystem, TargetValue } from "../../lib/targets/port.ts";
import { agree } from "./agree.ts";

/** A fresh target system that holds nothing yet. */
export interface MadeSystem {
  system: TargetSystem;
  /** Values that the system can hold, at least three that differ; any JSON where it is absent. */
  values?: readonly unknown[];
  /** Changes the target's text in the system as another program would, to another value. */
  overwrite(entry: Entry): Promise<void> | void;
  dispose?(): Promise<void>;
}

/** One promise. */
export interface TargetSystemCase {
  name: string;
  run(make: () => Promise<MadeSystem>): Promise<void>;
}

const ANY_JSON = [
  { limit: 1 },
  null,
  0,
  false,
  "",
  'é 日本語 \u{1F980} "quoted"\n',
  [1.5, [], {}],
  JSON.parse('{"__proto__":{"x":1},"10":1,"9":2}'),
];

const signal = new AbortController().signal;

const entry = (over: Partial<Entry> = {}): Entry => ({
  tenant_id: "t1",
  target: "limits.seats",
  kind: "config",
  value: null,
  ...over,
});

let attempts = 0;
const attempt = (over: Partial<AttemptContext> = {}): AttemptContext => ({
  change_id: `chg_00000000-0000-7000-8000-${String(++attempts).padStart(12, "0")}`,
  operation: "apply",
  attempt: `attempt-${attempts}`,
  at: "2026-01-02T03:04:05.678Z",
  ...over,
});

interface Bench extends Omit<MadeSystem, "values"> {
  values: readonly unknown[];
  read(one: Entry): Promise<TargetValue>;
  set(one: Entry, expected: TargetValue, over?: Partial<AttemptContext>): Promise<SetResult>;
}

const text = (value: unknown): string => (value === undefined ? "nothing" : canonicalJson(value));

function agreeHolds(held: TargetValue, value: unknown, when: string): void {
  agree(text(held.value) === text(value), `the target holds ${text(held.value)} ${when}, not ${text(value)}`);
}

function agreeDone(result: SetResult, when: string): asserts result is Extract<SetResult, { done: true }> {
  agree(result.done, `the write ${when} answers ${JSON.stringify(result)}`);
}

function agreeConflict(result: SetResult, when: string): asserts result is { done: false; conflict: TargetValue } {
  agree("conflict" in result, `the write ${when} answers ${JSON.stringify(result)}, not a conflict`);
}

const named = (name: string, work: (bench: Bench) => Promise<void>): TargetSystemCase => ({
  name,
  async run(make) {
    const made = await make();
    const { system, values = ANY_JSON } = made;
    try {
      await work({
        ...made,
        values,
        read: (one) => system.read(one, signal),
        set: (one, expected, over) =>
          system.compareAndSet(one, { value: one.value, version: "" }, expected, attempt(over), signal),
      });
    } finally {
      await made.dispose?.();
    }
  },
});

/** All cases. */
export const targetSystemCases: readonly TargetSystemCase[] = [
  named("a target that was never set holds nothing", async ({ read }) => {
    agreeHolds(await read(entry()), undefined, "before any write");
  }),
  named("a value that was set is read as it is, with the version that the write answered", async (bench) => {
    const { values, read, set } = bench;
    for (const value of values) {
      const one = entry({ value });
      const result = await set(one, await read(one));
      agreeDone(result, `of ${text(value)}`);
      const held = await read(one);
      agreeHolds(held, value, "after it was set");
      agree(held.version === result.version, `the write answers version ${result.version}, a read ${held.version}`);
    }
  }),
  named("another value has another version", async ({ values, read, set }) => {
    const versions = new Set<string>();
    for (const value of values) {
      await set(entry({ value }), await read(entry({ value })));
      versions.add((await read(entry({ value }))).version);
    }
    agree(versions.size === values.length, `${values.length} values have ${versions.size} versions`);
  }),
  named("a write that expects an older value is a conflict with the current one, and sets nothing", async (bench) => {
    const { values, read, set } = bench;
    const [first, second, third] = values.map((value) => entry({ value }));
    const nothing = await read(first!);
    await set(first!, nothing);
    const older = await read(first!);
    await set(second!, older);
    for (const expected of [older, nothing]) {
      const result = await set(third!, expected);
      agreeConflict(result, "with an older version");
      agreeHolds(result.conflict, second!.value, "by the conflict");
      agreeHolds(await read(second!), second!.value, "after the conflict");
    }
  }),
  named("a write after an edit by another program is a conflict, and leaves the edit", async (bench) => {
    const { values, read, set, overwrite } = bench;
    const [first, second] = values.map((value) => entry({ value }));
    await set(first!, await read(first!));
    const expected = await read(second!);
    await overwrite(first!);
    const edited = await read(second!);
    agreeConflict(await set(second!, expected), "after an edit by another program");
    agreeHolds(await read(second!), edited.value, "after the conflict");
  }),
  named("of writes at the same time that expect the same value one is done", async ({ values, read, set }) => {
    const expected = await read(entry());
    const writes = values.slice(0, 3).map((value) => set(entry({ value }), expected));
    const done = (await Promise.all(writes)).filter((result) => result.done);
    agree(done.length === 1, `${done.length} of three writes at the same time are done`);
  }),
  named("a value is removed, if it is the expected one", async ({ system, values, read, set }) => {
    const [first, second] = values.map((value) => entry({ value }));
    await set(first!, await read(first!));
    const older = await read(first!);
    await set(second!, older);
    const remove = (expected: TargetValue) =>
      system.compareAndSet(first!, undefined, expected, attempt({ operation: "rollback" }), signal);
    agreeConflict(await remove(older), "that removes an older value");
    agreeDone(await remove(await read(first!)), "that removes the value");
    agreeHolds(await read(first!), undefined, "after it was removed");
  }),
  named("what was read is restored exactly, also what another program wrote", async (bench) => {
    const { system, values, read, set, overwrite } = bench;
    const [first, second] = values.map((value) => entry({ value }));
    await set(first!, await read(first!));
    await overwrite(first!);
    const before = await read(first!);
    agreeDone(await set(second!, before), "over the edit");
    const over = { operation: "rollback" } as const;
    const restored = await system.compareAndSet(second!, before, await read(second!), attempt(over), signal);
    agreeDone(restored, "that restores the edit");
    const after = await read(first!);
    agreeHolds(after, before.value, "after the rollback");
    agree(after.raw === before.raw, "the text after the rollback is not the text before");
  }),
  named("targets and tenants are separate, and have places of their own", async ({ system, values, read, set }) => {
    const all = [
      entry({ value: values[0] }),
      entry({ value: values[1], target: "limits.rooms" }),
      ...(system.check(entry({ tenant_id: "t2" })) === undefined ? [entry({ value: values[2], tenant_id: "t2" })] : []),
    ];
    for (const one of all) agreeDone(await set(one, await read(one)), `of ${one.tenant_id} ${one.target}`);
    for (const one of all) agreeHolds(await read(one), one.value, `at ${one.tenant_id} ${one.target}`);
    const places = new Set(all.map((one) => system.place(one)));
    agree(places.size === all.length, "two targets have one place");
  }),
  named("an operation whose signal has aborted throws, and sets nothing", async ({ system, values, read, set }) => {
    const [first, second] = values.map((value) => entry({ value }));
    await set(first!, await read(first!));
    const expected = await read(first!);
    const stopped = AbortSignal.abort(new Error("time is up"));
    const set2 = { value: second!.value, version: "" };
    const calls = [system.read(first!, stopped), system.compareAndSet(second!, set2, expected, attempt(), stopped)];
    for (const { status } of await Promise.allSettled(calls))
      agree(status === "rejected", "an operation answers although its signal has aborted");
    agreeHolds(await read(first!), first!.value, "after the aborted write");
  }),
  named("an attempt is resolved by what became of it, where the system can", async ({ system, values, read, set }) => {
    if (!system.resolve) return;
    const one = entry({ value: values[0] });
    const [done, never] = [attempt(), attempt()];
    agreeDone(await set(one, await read(one), done), "to be resolved");
    const answers = [await system.resolve(one, done, signal), await system.resolve(one, never, signal)];
    const isTrue = (answers[0] ?? "done") === "done" && (answers[1] ?? "not_done") === "not_done";
    agree(isTrue, `the attempts are resolved as ${answers.join()}`);
  }),
];
