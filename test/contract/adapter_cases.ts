/** The contract of product adapters as named cases, for the adapters of this package and of applications. */
import type { ProductAdapter } from "../../lib/changes/operations/adapter_port.ts";
import type { Change } from "../../lib/changes/rules/change.ts";
import { agree } from "./agree.ts";

/** Creates an adapter on a host product without any values. */
export type MakeAdapter = () => Promise<{
  adapter: ProductAdapter;
  /** Sets the change's target in the host product as another program would, without the adapter. */
  overwrite?(change: Change, value: unknown): Promise<void> | void;
  dispose?(): Promise<void>;
}>;

/** One rule of the contract. */
export interface AdapterCase {
  name: string;
  run(make: MakeAdapter): Promise<void>;
}

type Verb = "apply" | "rollback" | "validate";
type Work = (host: {
  /** Applies, rolls back or validates a change. */
  run(verb: Verb, change: Change): Promise<void>;
  /** Requires that `verify` answers one of the states. */
  expectState(change: Change, ...states: string[]): Promise<void>;
  adapter: ProductAdapter;
  overwrite: ((change: Change, value: unknown) => Promise<void> | void) | undefined;
  signal: AbortSignal;
}) => Promise<void>;

const NOT_IN_FORCE = ["rolled_back", "absent"];

/** Creates a change that any host product can apply. */
const makeChange = (number: number, fields: Partial<Change> = {}): Change => ({
  change_id: `chg_00000000-0000-7000-8000-${String(number).padStart(12, "0")}`,
  tenant_id: "t1",
  kind: "config",
  target: `limits.${number}`,
  value: { limit: number },
  summary: `Set limit ${number}`,
  rationale: "",
  expected_delta_k: null,
  affected_users: null,
  reversible: true,
  tier: "standard",
  risk: "low",
  kpi: null,
  proposer: null,
  proposer_kind: "unknown",
  status: "approved",
  resolution: null,
  created_at: "2026-01-02T03:04:05.678Z",
  approver: "ana",
  approval_note: null,
  approvals: [],
  required_approvers: 1,
  decided_at: null,
  applied_at: null,
  rolled_back_at: null,
  digest: "0".repeat(64),
  revision: 1,
  ...fields,
});

const adapterCase = (name: string, work: Work): AdapterCase => ({
  name,
  async run(make) {
    const { adapter, overwrite, dispose } = await make();
    const { signal } = new AbortController();
    try {
      await work({
        adapter,
        overwrite,
        signal,
        async run(verb, requested) {
          await adapter[verb](requested, signal);
        },
        async expectState(requested, ...states) {
          const state = await adapter.verify(requested, signal);
          agree(states.includes(state), `verify answers ${state} for ${requested.target}, not ${states.join(" or ")}`);
        },
      });
    } finally {
      await dispose?.();
    }
  },
});

/** Requires that an adapter reports a value; `undefined` means that the adapter does not know the value. */
function agreeValue(report: { value: unknown } | null | undefined, expected: unknown, description: string): void {
  if (report === undefined) return;
  const value = report === null ? null : report.value;
  agree(JSON.stringify(value) === JSON.stringify(expected), `${description} is ${JSON.stringify(value)}`);
}

export const adapterCases: readonly AdapterCase[] = [
  adapterCase(
    "a change that was never applied is absent, and validating it changes nothing",
    async ({ run, expectState }) => {
      await expectState(makeChange(1), "absent");
      await run("validate", makeChange(1));
      await expectState(makeChange(1), "absent");
    },
  ),
  adapterCase(
    "an applied change is reported as applied, also when it is applied twice",
    async ({ run, expectState }) => {
      await run("apply", makeChange(1));
      await expectState(makeChange(1), "applied");
      await run("apply", makeChange(1));
      await expectState(makeChange(1), "applied");
    },
  ),
  adapterCase(
    "a change that was rolled back is not reported as applied, also after a second rollback",
    async ({ run, expectState }) => {
      await run("apply", makeChange(1));
      await run("rollback", makeChange(1));
      await expectState(makeChange(1), ...NOT_IN_FORCE);
      await run("rollback", makeChange(1));
      await expectState(makeChange(1), ...NOT_IN_FORCE);
    },
  ),
  adapterCase("rolling back a change that was never applied changes nothing", async ({ run, expectState }) => {
    await run("apply", makeChange(1));
    await run("rollback", makeChange(2));
    await expectState(makeChange(2), ...NOT_IN_FORCE);
    await expectState(makeChange(1), "applied");
  }),
  adapterCase("a change that was rolled back may be applied again", async ({ run, expectState }) => {
    await run("apply", makeChange(1));
    await run("rollback", makeChange(1));
    await run("apply", makeChange(1));
    await expectState(makeChange(1), "applied");
  }),
  adapterCase("a rollback does not affect changes of other targets and tenants", async ({ run, expectState }) => {
    const others = [makeChange(2), makeChange(3, { target: makeChange(1).target, tenant_id: "t2" })];
    for (const each of [makeChange(1), ...others]) await run("apply", each);
    await run("rollback", makeChange(1));
    for (const other of others) await expectState(other, "applied");
  }),
  adapterCase(
    "rolling back the later of two changes of a target restores the earlier one",
    async ({ run, expectState }) => {
      const later = makeChange(2, { target: makeChange(1).target });
      await run("apply", makeChange(1));
      await run("apply", later);
      await expectState(later, "applied");
      await run("rollback", later);
      await expectState(later, ...NOT_IN_FORCE);
      await expectState(makeChange(1), "applied");
    },
  ),
  adapterCase(
    "rolling back the earlier of two changes of a target does not affect the later one",
    async ({ run, expectState }) => {
      const later = makeChange(2, { target: makeChange(1).target });
      await run("apply", makeChange(1));
      await run("apply", later);
      await run("rollback", makeChange(1));
      await expectState(later, "applied");
      await run("rollback", later);
      await expectState(later, ...NOT_IN_FORCE);
      await expectState(makeChange(1), ...NOT_IN_FORCE);
    },
  ),
  adapterCase(
    "rolling back the earlier of two changes of a target answers superseded",
    async ({ run, adapter, signal }) => {
      await run("apply", makeChange(1));
      await run("apply", makeChange(2, { target: makeChange(1).target }));
      const { result } = await adapter.rollback(makeChange(1, { status: "applied" }), signal);
      agree(result === "superseded", `rollback answers ${result}, not superseded`);
    },
  ),
  adapterCase("targets are compared without case", async ({ run, adapter, signal }) => {
    const [earlier, later] = [makeChange(1), makeChange(2, { target: makeChange(1).target.toUpperCase() })];
    await run("apply", earlier);
    await run("apply", later);
    agreeValue(await adapter.held?.(earlier, signal), later.value, `held of ${earlier.target}`);
    const { result } = await adapter.rollback({ ...earlier, status: "applied" }, signal);
    agree(
      result === "superseded",
      `rollback of ${earlier.target} answers ${result}: ${later.target} is the same target`,
    );
  }),
  adapterCase(
    "an applied change that the host has lost is not reported as rolled back",
    async ({ adapter, signal }) => {
      // Status `applied`, although this host never got the change: to the adapter, the host has lost it.
      const lost = makeChange(1, { status: "applied" });
      const answer = await adapter.rollback(lost, signal).catch(() => undefined);
      if (answer) agree(false, `rollback answers ${answer.result} for a change of which the host shows nothing; throw`);
      const state = await adapter.verify(lost, signal);
      agree(
        state !== "applied" && state !== "rolled_back",
        `verify answers ${state} for a change that the host has lost`,
      );
    },
  ),
  adapterCase(
    "a value that the change did not set is reported as unknown",
    async ({ run, expectState, adapter, overwrite, signal }) => {
      const [applied, otherValue] = [makeChange(1), { limit: "set by another program" }];
      await run("apply", applied);
      // Without `overwrite`, the change is passed with another value than the one that was applied.
      if (!overwrite) return expectState({ ...applied, value: otherValue }, "unknown");
      await overwrite(applied, otherValue);
      await expectState(applied, "unknown");
      agreeValue(await adapter.held?.(applied, signal), otherValue, "held");
    },
  ),
  adapterCase(
    "the previous and the current value of a target are reported exactly",
    async ({ run, adapter, signal }) => {
      const [earlier, later] = [makeChange(1), makeChange(2, { target: makeChange(1).target })];
      const expectHeld = async (value: unknown) => agreeValue(await adapter.held?.(earlier, signal), value, "held");
      agreeValue((await adapter.apply(earlier, signal)).previous, null, "previous of the first change");
      await expectHeld(earlier.value);
      agreeValue((await adapter.apply(later, signal)).previous, earlier.value, "previous of the second change");
      await expectHeld(later.value);
      await run("rollback", later);
      await expectHeld(earlier.value);
      await run("rollback", earlier);
      await expectHeld(null);
    },
  ),
];
