/** Promises of every product adapter, as named cases: each adapter's test runs them, and so may an application's own. */
import type { ProductAdapter } from "../../lib/changes/operations/adapter_port.ts";
import type { Change } from "../../lib/changes/rules/change.ts";
import { agree } from "./agree.ts";

/** A fresh adapter on a host product that holds nothing yet. */
export type MakeAdapter = () => Promise<{
  adapter: ProductAdapter;
  /** Sets the change's target in the host product as another program would, without the adapter. */
  overwrite?(change: Change, value: unknown): Promise<void> | void;
  dispose?(): Promise<void>;
}>;

/** One promise. */
export interface AdapterCase {
  name: string;
  run(make: MakeAdapter): Promise<void>;
}

type Verb = "apply" | "rollback" | "validate";
type Work = (host: {
  is(verb: Verb, change: Change): Promise<void>;
  shows(change: Change, ...states: string[]): Promise<void>;
  adapter: ProductAdapter;
  overwrite: ((change: Change, value: unknown) => Promise<void> | void) | undefined;
  signal: AbortSignal;
}) => Promise<void>;

const GONE = ["rolled_back", "absent"];

/** A change of a kind that any host product can carry out. */
const change = (number: number, over: Partial<Change> = {}): Change => ({
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
  ...over,
});

const named = (name: string, work: Work): AdapterCase => ({
  name,
  async run(make) {
    const { adapter, overwrite, dispose } = await make();
    const { signal } = new AbortController();
    try {
      await work({
        adapter,
        overwrite,
        signal,
        async is(verb, asked) {
          await adapter[verb](asked, signal);
        },
        async shows(asked, ...states) {
          const state = await adapter.verify(asked, signal);
          agree(states.includes(state), `verify answers ${state} for ${asked.target}, not ${states.join(" or ")}`);
        },
      });
    } finally {
      await dispose?.();
    }
  },
});

/** Checks a value that an adapter may leave unstated with `undefined`. */
function agreeValue(stated: { value: unknown } | null | undefined, expected: unknown, what: string): void {
  if (stated === undefined) return;
  const value = stated === null ? null : stated.value;
  agree(JSON.stringify(value) === JSON.stringify(expected), `${what} is ${JSON.stringify(value)}`);
}

/** All cases. */
export const adapterCases: readonly AdapterCase[] = [
  named("what nobody applied is absent, and validating it changes nothing", async ({ is, shows }) => {
    await shows(change(1), "absent");
    await is("validate", change(1));
    await shows(change(1), "absent");
  }),
  named("an applied change shows as applied, also when it is applied twice", async ({ is, shows }) => {
    await is("apply", change(1));
    await shows(change(1), "applied");
    await is("apply", change(1));
    await shows(change(1), "applied");
  }),
  named("a change that was rolled back does not show, also when it is rolled back twice", async ({ is, shows }) => {
    await is("apply", change(1));
    await is("rollback", change(1));
    await shows(change(1), ...GONE);
    await is("rollback", change(1));
    await shows(change(1), ...GONE);
  }),
  named("rolling back what was never applied does no harm", async ({ is, shows }) => {
    await is("apply", change(1));
    await is("rollback", change(2));
    await shows(change(2), ...GONE);
    await shows(change(1), "applied");
  }),
  named("a change that was rolled back may be applied again", async ({ is, shows }) => {
    await is("apply", change(1));
    await is("rollback", change(1));
    await is("apply", change(1));
    await shows(change(1), "applied");
  }),
  named("changes on other targets and of other tenants are left alone", async ({ is, shows }) => {
    const others = [change(2), change(3, { target: change(1).target, tenant_id: "t2" })];
    for (const one of [change(1), ...others]) await is("apply", one);
    await is("rollback", change(1));
    for (const other of others) await shows(other, "applied");
  }),
  named("rolling back the later of two on one target brings the earlier back", async ({ is, shows }) => {
    const later = change(2, { target: change(1).target });
    await is("apply", change(1));
    await is("apply", later);
    await shows(later, "applied");
    await is("rollback", later);
    await shows(later, ...GONE);
    await shows(change(1), "applied");
  }),
  named("rolling back the earlier of two on one target leaves the later alone", async ({ is, shows }) => {
    const later = change(2, { target: change(1).target });
    await is("apply", change(1));
    await is("apply", later);
    await is("rollback", change(1));
    await shows(later, "applied");
    await is("rollback", later);
    await shows(later, ...GONE);
    await shows(change(1), ...GONE);
  }),
  named("rolling back the earlier of two on one target answers superseded", async ({ is, adapter, signal }) => {
    await is("apply", change(1));
    await is("apply", change(2, { target: change(1).target }));
    const { result } = await adapter.rollback(change(1, { status: "applied" }), signal);
    agree(result === "superseded", `rollback answers ${result}, not superseded`);
  }),
  named("targets are compared without case", async ({ is, adapter, signal }) => {
    const [earlier, later] = [change(1), change(2, { target: change(1).target.toUpperCase() })];
    await is("apply", earlier);
    await is("apply", later);
    agreeValue(await adapter.held?.(earlier, signal), later.value, `held of ${earlier.target}`);
    const { result } = await adapter.rollback({ ...earlier, status: "applied" }, signal);
    agree(
      result === "superseded",
      `rollback of ${earlier.target} answers ${result}: ${later.target} is the same target`,
    );
  }),
  named("an applied change that the host has lost is not reported as rolled back", async ({ adapter, signal }) => {
    const lost = change(1, { status: "applied" });
    const answer = await adapter.rollback(lost, signal).catch(() => undefined);
    if (answer) agree(false, `rollback answers ${answer.result} for a change of which the host shows nothing; throw`);
    const state = await adapter.verify(lost, signal);
    agree(
      state !== "applied" && state !== "rolled_back",
      `verify answers ${state} for a change that the host has lost`,
    );
  }),
  named(
    "a value that the change did not set is shown as unknown",
    async ({ is, shows, adapter, overwrite, signal }) => {
      const [applied, foreign] = [change(1), { limit: "set by another program" }];
      await is("apply", applied);
      // Without `overwrite`, what the host holds differs from the change because the change is given with another value.
      if (!overwrite) return shows({ ...applied, value: foreign }, "unknown");
      await overwrite(applied, foreign);
      await shows(applied, "unknown");
      agreeValue(await adapter.held?.(applied, signal), foreign, "held");
    },
  ),
  named("what a target held before and holds now is stated as it is", async ({ is, adapter, signal }) => {
    const [earlier, later] = [change(1), change(2, { target: change(1).target })];
    const holds = async (value: unknown) => agreeValue(await adapter.held?.(earlier, signal), value, "held");
    agreeValue((await adapter.apply(earlier, signal)).previous, null, "previous of the first change");
    await holds(earlier.value);
    agreeValue((await adapter.apply(later, signal)).previous, earlier.value, "previous of the second change");
    await holds(later.value);
    await is("rollback", later);
    await holds(earlier.value);
    await is("rollback", earlier);
    await holds(null);
  }),
];
