/** Each rule checks every entry of a plan: if only the last entry breaks a rule, the plan gets the same reply as that entry alone. */
import { describe, expect, test } from "vitest";
import { systemClock, portableSha256 } from "../../../../lib/kit/platform.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import { targetAdapter } from "../../../../lib/targets/adapter.ts";
import { routingAdapter } from "../../../../lib/targets/routing.ts";
import type { Reply } from "../../../support/client.ts";
import type { TestOptions } from "../../../support/deps.ts";
import type { Manifest } from "../../../support/intents.ts";
import { memoryTarget } from "../../../support/memory_target.ts";
import { service, type TestService } from "../../../support/service.ts";

const SECRET = "an agent's own secret";
const AS_AGENT = { authorization: `Bearer ${SECRET}` };
/** Returns an intent with an agent that may propose within these bounds. */
const intentWithAgent = (may: object = {}) => ({
  principals: { "agent:one": { kind: "agent", token_sha256: portableSha256(SECRET), may } },
});

type Entry = { tenant_id: string; target: string; value: unknown };
const makeEntry = (target: string, value: unknown = 1, tenant_id = "t1"): Entry => ({ tenant_id, target, value });
const OTHER_ENTRIES = [makeEntry("ui.a"), makeEntry("ui.b")];
/** The target of the plan itself. Scopes must cover this name too, so the cases list it where only an entry is to break a rule. */
const PLAN_NAME = "release.7";
const LAST_ENTRY = makeEntry("limits.seats", 50);
const COMMON = { kind: "config", summary: "s", reversible: true };
const MINOR = { tier: "minor", affected_users: 1, risk: "low" };

interface Case {
  /** Fields of the intent. */
  intent?: Manifest;
  options?: () => TestOptions;
  /** Creates earlier changes. */
  prepare?: (api: TestService) => Promise<unknown>;
  /** The entry that breaks the rule. */
  lastEntry?: Entry;
  /** More fields of the proposal. */
  fields?: object;
  headers?: HeadersInit;
  /** Returns the part of the reply that the rule decides, by default the status and the code. */
  readResult?: (reply: Reply, api: TestService) => unknown;
  expected: unknown;
}

const readCode = ({ status, body }: Reply): unknown => (status === 201 ? "allowed" : `${status} ${body.code}`);
const readTier = ({ body }: Reply): unknown => [body.tier, body.tier_reason];
const readMissing = ({ body }: Reply): unknown => body.missing.map(({ rule }: { rule: string }) => rule);
const readConflicts = ({ body }: Reply): unknown => body.conflicts.length;
const readGate =
  (gate: string) =>
  async ({ body }: Reply, api: TestService): Promise<unknown> => {
    const { gates } = await api.change(body.change_id);
    return gates.find((found: { gate: string; state: string }) => found.gate === gate && found.state === "block")?.gate;
  };
const minorRule = (fields: object = {}) => ({ kinds: ["config"], targets: ["*"], agents: true, ...fields });
const proposeSingle = (
  api: TestService,
  { tenant_id, target, value }: Entry,
  fields: object = {},
  headers?: HeadersInit,
) => api.json("propose", { ...COMMON, ...fields, tenant_id, target, value }, headers);

/** Options with a target system for `ui.*` and `limits.*` that rejects text; `fails` is a target that cannot be read. */
function systemOptions(overrides: { place?: (target: string) => string; fails?: string } = {}): TestOptions {
  const { system } = memoryTarget();
  const place = overrides.place ?? ((target: string) => `memory ${target}`);
  const adapter = targetAdapter(
    {
      ...system,
      place: ({ target }) => place(target),
      check: ({ value }) => (typeof value === "string" ? "it holds no text" : undefined),
      read: (entry, signal) =>
        entry.target === overrides.fails ? Promise.reject(new Error("down")) : system.read(entry, signal),
    },
    { store: memoryStore(), clock: systemClock },
  );
  return { adapter: routingAdapter([{ name: "flags", match: ["ui.*", "limits.*"], adapter }]) };
}

const CASES: Readonly<Record<string, Case>> = {
  "a forbidden target": {
    intent: { policy: { forbidden_targets: ["limits.*"] } },
    expected: "403 forbidden_target",
  },
  "a target outside an agent's scope": {
    intent: intentWithAgent({ targets: ["ui.*", PLAN_NAME] }),
    headers: AS_AGENT,
    expected: "403 agent_may_not",
  },
  "a tenant outside an agent's scope": {
    intent: intentWithAgent({ tenants: ["t1"] }),
    headers: AS_AGENT,
    lastEntry: makeEntry("ui.c", 1, "t2"),
    expected: "403 agent_may_not",
  },
  "a value outside its schema": {
    intent: { policy: { targets: [{ match: ["limits.*"], schema: { type: "number", maximum: 49 } }] } },
    expected: "400 value_not_allowed",
  },
  "a step that is too large": {
    intent: { policy: { targets: [{ match: ["limits.*"], max_step: { absolute: 5 } }] } },
    prepare: (api) => api.bring("applied", { ...makeEntry("limits.seats", "40"), ...COMMON } as never),
    expected: "400 value_not_allowed",
  },
  "a target that needs a KPI": {
    intent: { policy: { targets: [{ match: ["limits.*"], kpi_required: true }] } },
    expected: "400 value_not_allowed",
  },
  "a split on a system without splits": {
    options: () => systemOptions(),
    lastEntry: makeEntry("limits.seats", {
      $split: {
        unit: "userId",
        shares: [
          ["a", 1, 5000],
          ["b", 2, 5000],
        ],
      },
    }),
    expected: "400 value_not_allowed",
  },
  "a value that its system rejects": {
    options: () => systemOptions(),
    lastEntry: makeEntry("limits.seats", "fifty"),
    expected: "400 value_not_allowed",
  },
  "a target that no system covers": {
    options: () => systemOptions(),
    lastEntry: makeEntry("billing.plan", 1),
    expected: "400 no_target_system",
  },
  "a key of the system that belongs to another target": {
    options: () => systemOptions({ place: (target) => (target.startsWith("limits") ? "one place" : target) }),
    prepare: (api) => api.bring("applied", { ...makeEntry("limits.teams", "1"), ...COMMON } as never),
    expected: "409 target_conflict",
  },
  "an open change with on_conflict: block": {
    intent: { policy: { on_conflict: "block" } },
    // Targets that differ only in case are one target.
    prepare: (api) => proposeSingle(api, makeEntry("Limits.Seats", 40)),
    expected: "409 target_conflict",
  },
  "an open plan with on_conflict: block": {
    intent: { policy: { on_conflict: "block" } },
    prepare: (api) => proposePlan(api, [makeEntry("ui.x"), makeEntry("limits.seats", 40)]),
    expected: "409 target_conflict",
  },
  "an open plan with on_conflict: report": {
    prepare: (api) => proposePlan(api, [makeEntry("ui.x"), makeEntry("limits.seats", 40)]),
    readResult: readConflicts,
    expected: 1,
  },
  "an open change with on_conflict: report": {
    prepare: (api) => proposeSingle(api, makeEntry("limits.seats", 40)),
    readResult: readConflicts,
    expected: 1,
  },
  "a target that minor does not cover": {
    intent: { policy: { minor: minorRule({ targets: ["ui.*", PLAN_NAME] }) } },
    fields: MINOR,
    readResult: readTier,
    expected: ["standard", "It is not minor: the intent lets no change of limits.seats be minor."],
  },
  "a tenant that minor does not cover": {
    intent: { policy: { minor: minorRule({ tenants: ["t1"] }) } },
    fields: MINOR,
    lastEntry: makeEntry("ui.c", 1, "t2"),
    readResult: readTier,
    expected: ["standard", "It is not minor: the intent lets no change of ui.c for tenant t2 be minor."],
  },
  "a target that has owners, of a minor change": {
    intent: { policy: { minor: minorRule(), owners: [{ targets: ["limits.*"], approvers: ["fin"], required: 1 }] } },
    fields: MINOR,
    readResult: readTier,
    expected: ["standard", "It is not minor: limits.seats has owners, who must consent."],
  },
  "a target that was rolled back, of a minor change": {
    intent: { policy: { minor: minorRule() } },
    prepare: (api) => api.bring("rolled_back", { ...makeEntry("limits.seats", "40"), ...COMMON } as never),
    fields: MINOR,
    readResult: readTier,
    expected: ["standard", expect.stringContaining("limits.seats was rolled back")],
  },
  "the first value where steps are limited, of a minor change": {
    intent: { policy: { minor: minorRule(), targets: [{ match: ["limits.*"], max_step: { absolute: 5 } }] } },
    fields: MINOR,
    readResult: readTier,
    expected: ["standard", expect.stringContaining("the first value of limits.seats")],
  },
  "a system that cannot be read, of a minor change": {
    intent: { policy: { minor: minorRule() } },
    options: () => systemOptions({ fails: "limits.seats" }),
    fields: MINOR,
    readResult: readTier,
    expected: ["standard", "It is not minor: its target system cannot be read now."],
  },
  "a target that has owners": {
    intent: { policy: { owners: [{ targets: ["limits.*"], approvers: ["fin"], required: 1 }] } },
    readResult: readMissing,
    expected: ["required_approvers", "owners limits.*"],
  },
  "a window that is closed for a target": {
    intent: {
      policy: {
        windows: {
          deny: [{ from: "2026-01-01T00:00:00Z", to: "2027-01-01T00:00:00Z", reason: "x", targets: ["limits.*"] }],
        },
      },
    },
    readResult: readGate("window"),
    expected: "window",
  },
  "a value that must be applied elsewhere first": {
    intent: { policy: { promotion: [{ to: ["tenant:production"], from: ["tenant:staging"] }] } },
    lastEntry: makeEntry("ui.c", 1, "production"),
    readResult: readGate("promotion"),
    expected: "promotion",
  },
  "text of an agent that looks like another type": {
    intent: intentWithAgent(),
    headers: AS_AGENT,
    lastEntry: makeEntry("ui.c", "true"),
    readResult: ({ body }) => typeof body.value_hint,
    expected: "string",
  },
};

const proposePlan = (api: TestService, sets: readonly Entry[], fields: object = {}, headers?: HeadersInit) =>
  api.json("propose", { ...COMMON, ...fields, tenant_id: "t1", target: PLAN_NAME, sets }, headers);

/** Returns the replies to the last entry alone, to a plan that ends in it, and to a plan without it. */
async function proposeEach({
  intent = {},
  options,
  prepare,
  lastEntry = LAST_ENTRY,
  fields = {},
  headers,
  readResult = readCode,
}: Case) {
  const replyTo = async (propose: (api: TestService) => Promise<Reply>): Promise<unknown> => {
    const api = await service({ intent, ...options?.() });
    await prepare?.(api);
    return readResult(await propose(api), api);
  };
  return {
    single: await replyTo((api) => proposeSingle(api, lastEntry, fields, headers)),
    plan: await replyTo((api) => proposePlan(api, [...OTHER_ENTRIES, lastEntry], fields, headers)),
    planWithoutEntry: await replyTo((api) => proposePlan(api, OTHER_ENTRIES, fields, headers)),
  };
}

describe("a plan gets the same reply as its last entry alone for", () => {
  test.each(Object.entries(CASES))("%s", async (_, testCase) => {
    const { single, plan, planWithoutEntry } = await proposeEach(testCase);
    expect(single, "the entry alone").toEqual(testCase.expected);
    expect(plan, "the plan").toEqual(testCase.expected);
    expect(planWithoutEntry, "the plan without the entry").not.toEqual(testCase.expected);
  });
});
