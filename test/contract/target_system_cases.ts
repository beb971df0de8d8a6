/** The contract of target systems as named cases. */
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import { Unanswered } from "../../lib/kit/time_limit.ts";
import type {
  AttemptContext,
  Entry,
  SetManyResult,
  SetResult,
  TargetSystem,
  TargetValue,
  UserShare,
  Write,
} from "../../lib/targets/port.ts";
import { agree } from "./agree.ts";

/** A new target system without any values, with helpers for the cases. */
export interface MadeTarget {
  system: TargetSystem;
  /** Values that the system can hold, at least three that differ; without this member, any JSON value. */
  values?: readonly unknown[];
  /** Gives the target another value, as another program would: the text need not be what the system itself writes. */
  overwrite(entry: Entry): Promise<void> | void;
  /** Interrupts the next write in the middle, as when a process or a connection ends. */
  interrupt?(): Promise<unknown> | void;
  dispose?(): Promise<void>;
}

export type MakeTarget = () => Promise<MadeTarget>;

/** One rule of the contract. */
export interface TargetCase {
  name: string;
  run(make: MakeTarget): Promise<void>;
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

const makeEntry = (fields: Partial<Entry> = {}): Entry => ({
  tenant_id: "t1",
  target: "limits.seats",
  kind: "config",
  value: null,
  ...fields,
});

let attempts = 0;
const makeAttempt = (fields: Partial<AttemptContext> = {}): AttemptContext => ({
  change_id: `chg_00000000-0000-7000-8000-${String(++attempts).padStart(12, "0")}`,
  operation: "apply",
  attempt: `attempt-${attempts}`,
  at: "2026-01-02T03:04:05.678Z",
  ...fields,
});

/** The helpers of a case: a target system with shorter calls. */
interface TargetHelpers extends Omit<MadeTarget, "values"> {
  values: readonly unknown[];
  read(entry: Entry): Promise<TargetValue>;
  /** Sets the value of an entry if the target has the expected one. */
  set(entry: Entry, expected: TargetValue, attempt?: Partial<AttemptContext>): Promise<SetResult>;
  /** Calls `setMany` of the system with the same attempt for all writes; undefined if the system has no transactions. */
  setMany:
    ((writes: readonly Omit<Write, "attempt">[], attempt?: AttemptContext) => Promise<SetManyResult>) | undefined;
}

const format = (value: unknown): string => (value === undefined ? "nothing" : canonicalJson(value));

function agreeHasValue(current: TargetValue, value: unknown, when: string): void {
  agree(
    format(current.value) === format(value),
    `the target has ${format(current.value)} ${when}, not ${format(value)}`,
  );
}

function agreeDone<R extends SetResult | SetManyResult>(
  result: R,
  when: string,
): asserts result is Extract<R, { done: true }> {
  agree(result.done, `the write ${when} answers ${JSON.stringify(result)}`);
}

function agreeConflict(
  result: SetResult | SetManyResult,
  when: string,
): asserts result is { done: false; conflict: TargetValue } {
  agree("conflict" in result, `the write ${when} answers ${JSON.stringify(result)}, not a conflict`);
}

const targetCase = (name: string, work: (helpers: TargetHelpers) => Promise<void>): TargetCase => ({
  name,
  async run(make) {
    const target = await make();
    const { system, values = ANY_JSON } = target;
    try {
      await work({
        ...target,
        values,
        read: (entry) => system.read(entry, signal),
        // A value to be set has no version yet.
        set: (entry, expected, attempt) =>
          system.compareAndSet(entry, { value: entry.value, version: "" }, expected, makeAttempt(attempt), signal),
        setMany:
          system.setMany &&
          ((writes, shared = makeAttempt()) =>
            system.setMany!(
              writes.map((write) => ({ ...write, attempt: shared })),
              signal,
            )),
      });
    } finally {
      await target.dispose?.();
    }
  },
});

export const targetCases: readonly TargetCase[] = [
  targetCase("a target that was never set has no value", async ({ read }) => {
    agreeHasValue(await read(makeEntry()), undefined, "before any write");
  }),
  targetCase("a set value is read unchanged, with the version that the write returned", async (helpers) => {
    const { values, read, set } = helpers;
    for (const value of values) {
      const one = makeEntry({ value });
      const result = await set(one, await read(one));
      agreeDone(result, `of ${format(value)}`);
      const current = await read(one);
      agreeHasValue(current, value, "after it was set");
      agree(
        current.version === result.version,
        `the write answers version ${result.version}, a read ${current.version}`,
      );
    }
  }),
  targetCase("different values have different versions", async ({ values, read, set }) => {
    const versions = new Set<string>();
    for (const value of values) {
      await set(makeEntry({ value }), await read(makeEntry({ value })));
      versions.add((await read(makeEntry({ value }))).version);
    }
    agree(versions.size === values.length, `${values.length} values have ${versions.size} versions`);
  }),
  targetCase(
    "a write that expects an older value is a conflict with the current one and sets nothing",
    async (helpers) => {
      const { values, read, set } = helpers;
      const [first, second, third] = values.map((value) => makeEntry({ value }));
      const nothing = await read(first!);
      await set(first!, nothing);
      const older = await read(first!);
      await set(second!, older);
      for (const expected of [older, nothing]) {
        const result = await set(third!, expected);
        agreeConflict(result, "with an older version");
        agreeHasValue(result.conflict, second!.value, "by the conflict");
        agreeHasValue(await read(second!), second!.value, "after the conflict");
      }
    },
  ),
  targetCase("a write after an edit by another program is a conflict and does not overwrite it", async (helpers) => {
    const { values, read, set, overwrite } = helpers;
    const [first, second] = values.map((value) => makeEntry({ value }));
    await set(first!, await read(first!));
    const expected = await read(second!);
    await overwrite(first!);
    const edited = await read(second!);
    agreeConflict(await set(second!, expected), "after an edit by another program");
    agreeHasValue(await read(second!), edited.value, "after the conflict");
  }),
  targetCase(
    "only one of several concurrent writes that expect the same value succeeds",
    async ({ values, read, set }) => {
      const expected = await read(makeEntry());
      const writes = values.slice(0, 3).map((value) => set(makeEntry({ value }), expected));
      const done = (await Promise.all(writes)).filter((result) => result.done);
      agree(done.length === 1, `${done.length} of three writes at the same time are done`);
    },
  ),
  targetCase("a value is removed, if it is the expected one", async ({ system, values, read, set }) => {
    const [first, second] = values.map((value) => makeEntry({ value }));
    await set(first!, await read(first!));
    const older = await read(first!);
    await set(second!, older);
    const remove = (expected: TargetValue) =>
      system.compareAndSet(first!, undefined, expected, makeAttempt({ operation: "rollback" }), signal);
    agreeConflict(await remove(older), "that removes an older value");
    agreeDone(await remove(await read(first!)), "that removes the value");
    agreeHasValue(await read(first!), undefined, "after it was removed");
  }),
  targetCase("a value that was read can be restored exactly, even if another program wrote it", async (helpers) => {
    const { system, values, read, set, overwrite } = helpers;
    const [first, second] = values.map((value) => makeEntry({ value }));
    await set(first!, await read(first!));
    await overwrite(first!);
    const before = await read(first!);
    agreeDone(await set(second!, before), "over the edit");
    const rollback = { operation: "rollback" } as const;
    const restored = await system.compareAndSet(second!, before, await read(second!), makeAttempt(rollback), signal);
    agreeDone(restored, "that restores the edit");
    const after = await read(first!);
    agreeHasValue(after, before.value, "after the rollback");
    agree(after.raw === before.raw, "the text after the rollback is not the text before");
  }),
  targetCase("each target of each tenant has its own value and key", async ({ system, values, read, set }) => {
    const all = [
      makeEntry({ value: values[0] }),
      makeEntry({ value: values[1], target: "limits.rooms" }),
      ...(system.check(makeEntry({ tenant_id: "t2" })) === undefined
        ? [makeEntry({ value: values[2], tenant_id: "t2" })]
        : []),
    ];
    for (const one of all) agreeDone(await set(one, await read(one)), `of ${one.tenant_id} ${one.target}`);
    for (const one of all) agreeHasValue(await read(one), one.value, `at ${one.tenant_id} ${one.target}`);
    const places = new Set(all.map((one) => system.place(one)));
    agree(places.size === all.length, "two targets have one place");
  }),
  targetCase("an operation with an aborted signal throws and sets nothing", async ({ system, values, read, set }) => {
    const [first, second] = values.map((value) => makeEntry({ value }));
    await set(first!, await read(first!));
    const expected = await read(first!);
    const stopped = AbortSignal.abort(new Error("time is up"));
    const nextValue = { value: second!.value, version: "" };
    const calls = [
      system.read(first!, stopped),
      system.compareAndSet(second!, nextValue, expected, makeAttempt(), stopped),
    ];
    for (const { status } of await Promise.allSettled(calls))
      agree(status === "rejected", "an operation answers although its signal has aborted");
    agreeHasValue(await read(first!), first!.value, "after the aborted write");
  }),
  targetCase(
    "resolving an attempt reports whether it was done, if the system knows",
    async ({ system, values, read, set }) => {
      if (!system.resolve) return;
      const one = makeEntry({ value: values[0] });
      const [done, never] = [makeAttempt(), makeAttempt()];
      agreeDone(await set(one, await read(one), done), "to be resolved");
      const answers = [await system.resolve(one, done, signal), await system.resolve(one, never, signal)];
      const isCorrect = (answers[0] ?? "done") === "done" && (answers[1] ?? "not_done") === "not_done";
      agree(isCorrect, `the attempts are resolved as ${answers.join()}`);
    },
  ),
  targetCase("setMany sets all values together and returns the version of each", async (helpers) => {
    const { values, read, setMany } = helpers;
    if (!setMany) return;
    const pair = makePair(values);
    agreeDone(await setMany(await expectingWrites(helpers, pair.old)), "of two new targets");
    const result = await setMany(await expectingWrites(helpers, pair.new));
    agreeDone(result, "of two targets");
    for (const [index, one] of pair.new.entries()) {
      const current = await read(one);
      agreeHasValue(current, one.value, `at ${one.target}`);
      agree(current.version === result.versions[index], `the set answers another version of ${one.target} than a read`);
    }
  }),
  targetCase("setMany with a conflict in one write returns its index and sets nothing", async (helpers) => {
    const { values, read, set, setMany } = helpers;
    if (!setMany) return;
    const pair = makePair(values);
    for (const index of [1, 0]) {
      for (const one of pair.old) await set(one, await read(one));
      const writes = await expectingWrites(helpers, pair.new);
      const edited = { ...pair.old[index]!, value: values[2] };
      await set(edited, await read(edited));
      const result = await setMany(writes);
      agreeConflict(result, "with an older version");
      agree("index" in result && result.index === index, `the conflict is in write ${index}, not as it answers`);
      agreeHasValue(result.conflict, edited.value, "by the conflict");
      for (const one of [pair.old[1 - index]!, edited]) agreeHasValue(await read(one), one.value, "after the conflict");
    }
  }),
  targetCase("setMany restores replaced values exactly and removes new ones", async (helpers) => {
    const { values, read, set, setMany, overwrite } = helpers;
    if (!setMany) return;
    const pair = makePair(values);
    await set(pair.old[0], await read(pair.old[0]));
    await overwrite(pair.old[0]);
    const before = [await read(pair.new[0]), await read(pair.new[1])];
    agreeDone(await setMany(await expectingWrites(helpers, pair.new)), "over the edit");
    const restore = await expectingWrites(helpers, pair.new);
    const restores = restore.map((write, index) => ({
      ...write,
      next: before[index]!.value === undefined ? undefined : before[index],
    }));
    agreeDone(await setMany(restores, makeAttempt({ operation: "rollback" })), "that restores");
    for (const [index, one] of pair.new.entries()) {
      const after = await read(one);
      agreeHasValue(after, before[index]!.value, "after the rollback");
      agree(after.raw === before[index]!.raw, "the text after the rollback is not the text before");
    }
  }),
  targetCase("an interrupted setMany has set all values or none", async (helpers) => {
    const { system, values, read, setMany, interrupt } = helpers;
    if (!setMany || !interrupt) return;
    const pair = makePair(values);
    agreeDone(await setMany(await expectingWrites(helpers, pair.old)), "of two new targets");
    const [writes, attempt] = [await expectingWrites(helpers, pair.new), makeAttempt()];
    await interrupt();
    const failure = await setMany(writes, attempt).then(
      (result) => (result.done ? undefined : new Error("rejected")),
      (error: unknown) => error,
    );
    const outcome = await system.resolve?.(pair.new[0], attempt, signal);
    const current = [await read(pair.new[0]), await read(pair.new[1])];
    const haveValuesOf = (entries: readonly Entry[]) =>
      entries.every(({ value }, index) => format(current[index]!.value) === format(value));
    agree(
      haveValuesOf(pair.new) || haveValuesOf(pair.old),
      `a part is set: ${current.map(({ value }) => format(value)).join()}`,
    );
    if (failure === undefined || outcome === "done") agree(haveValuesOf(pair.new), "a set that is done is not there");
    if (outcome === "not_done" || !(failure === undefined || failure instanceof Unanswered))
      agree(haveValuesOf(pair.old), "a set that was not done is there, and its error is not Unanswered");
  }),
  targetCase("each split of a growing share is read as it was set, and at last the full value", async (helpers) => {
    const { system, read } = helpers;
    if (!system.split) return;
    const { before, goal } = await findSplittable(helpers);
    const { salt, ...unit } = makeShare(0);
    const attempt = makeAttempt({ change_id: salt, operation: "advance" });
    const seenValues = new Set([format(before.value)]);
    // 1 %, half and all of the users: shares are of 10,000.
    for (const share of [100, 5000, 10_000]) {
      const next = system.split(goal, { ...unit, salt, share }, before);
      const expected = await read(goal);
      agreeDone(await system.compareAndSet(goal, next, expected, attempt, signal), `of a share of ${share}`);
      agreeHasValue(await read(goal), next.value, `at a share of ${share}`);
      seenValues.add(format(next.value));
      agreeConflict(await system.compareAndSet(goal, next, expected, attempt, signal), "that expects the step before");
    }
    agreeHasValue(await read(goal), goal.value, "after the last step");
    // The value before, and one for each share.
    agree(seenValues.size === 4, "the splits of two shares are the same");
  }),
  targetCase("the value before a split is restored exactly, from each share", async (helpers) => {
    const { system, read, overwrite } = helpers;
    if (!system.split) return;
    const { goal } = await findSplittable(helpers);
    await overwrite(goal);
    const before = await read(goal);
    // The system may be unable to split the value of the edit.
    if (system.findSplitProblem?.(goal, makeShare(100), before) !== undefined) return;
    for (const share of [100, 10_000]) {
      const by = makeShare(share);
      const set = (next: TargetValue, expected: TargetValue, operation: "apply" | "rollback") =>
        system.compareAndSet(goal, next, expected, makeAttempt({ change_id: by.salt, operation }), signal);
      agreeDone(await set(system.split(goal, by, before), await read(goal), "apply"), `of a share of ${share}`);
      agreeDone(await set(before, await read(goal), "rollback"), "that restores");
      const after = await read(goal);
      agreeHasValue(after, before.value, "after the rollback");
      agree(after.raw === before.raw, "the text after the rollback is not the text before");
    }
  }),
];

/** Finds two values between which the target system can split the users, and leaves the target at the first one. */
async function findSplittable({
  system,
  values,
  read,
  set,
}: TargetHelpers): Promise<{ before: TargetValue; goal: Entry }> {
  for (const value of values) {
    const first = makeEntry({ value });
    await set(first, await read(first));
    for (const other of values) {
      const goal = makeEntry({ value: other });
      const before = await read(goal);
      const isSame = format(other) === format(before.value);
      if (!isSame && system.findSplitProblem?.(goal, makeShare(5000), before) === undefined) return { before, goal };
    }
  }
  throw new Error("the target system can split none of its values");
}

const makeShare = (share: number): UserShare => ({ unit: "userId", salt: makeAttempt().change_id, share });

/** Returns entries of two targets: with old values and with new ones. */
function makePair(values: readonly unknown[]) {
  const entries = (first: unknown, second: unknown): [Entry, Entry] => [
    makeEntry({ value: first }),
    makeEntry({ value: second, target: "limits.rooms" }),
  ];
  return { old: entries(values[0], values[1]), new: entries(values[1], values[0]) };
}

/** Returns writes of entries that expect the current values of their targets. */
const expectingWrites = (
  { read }: Pick<TargetHelpers, "read">,
  entries: readonly Entry[],
): Promise<Omit<Write, "attempt">[]> =>
  Promise.all(
    entries.map(async (one) => ({ entry: one, next: { value: one.value, version: "" }, expected: await read(one) })),
  );
