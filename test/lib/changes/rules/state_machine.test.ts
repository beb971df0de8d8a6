/** The state machine: decisions, the effect of events, and the fold of entries. */
import { describe, expect, test } from "vitest";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import { type Actor, serviceActor } from "../../../../lib/changes/rules/actor.ts";
import { type Change, STATUSES, type Status } from "../../../../lib/changes/rules/change.ts";
import type { Command, Context, ProposeInput } from "../../../../lib/changes/rules/command.ts";
import { type ChangeEvent, parseEvent } from "../../../../lib/changes/rules/event.ts";
import { type ChangeRecord, listDifferences, toChange } from "../../../../lib/changes/rules/record.ts";
import { evolve } from "../../../../lib/changes/rules/evolve.ts";
import { decide, requireOperable } from "../../../../lib/changes/rules/state_machine.ts";
import { listAllowedActions } from "../../../../lib/changes/rules/transitions.ts";
import { makeIntent, type Manifest } from "../../../support/intents.ts";
import { seededIntegers } from "../../../support/seeded_integers.ts";

const INPUT: ProposeInput = {
  tenant_id: "t1",
  kind: "config",
  target: "ui.banner",
  summary: "Show it",
  proposer: "pat",
};
const ANA: Actor = { actor: "ana", authenticated: "claimed" };

const context = (policy: Manifest = {}, actor: Actor = ANA): Context => {
  const { intent, manifest_hash } = makeIntent({ policy });
  return { intent, manifest_hash, sha256: portableSha256, actor };
};

/** Creates a log of changes in memory. */
function createLog(usedContext: Context) {
  const entries: { id: number; timestamp: string; event_type: string; change_id: string; detail: string }[] = [];
  const records = new Map<string, ChangeRecord>();
  /** Decides a command, adds the event to the log and updates the record; throws the error of `decide`. */
  const run = (change_id: string, command: Command, commandContext = usedContext): ChangeRecord => {
    const before = records.get(change_id);
    const decided = decide(before?.change, command, commandContext);
    const id = entries.length + 1;
    const timestamp = new Date(Date.UTC(2026, 0, 2, 3, 4, id)).toISOString();
    const { event_type, content, detail } = decided;
    entries.push({ id, timestamp, event_type, change_id, detail: JSON.stringify(detail) });
    const state = evolve(before, { id, timestamp, event_type, change_id, detail });
    expect(state, `${command.type} of a ${before?.change.status ?? "new"} change`).toBeDefined();
    const after = { ...state!, change: toChange(state!, content) };
    if ("status" in detail) expect(after.change.status).toBe(detail.status);
    records.set(change_id, after);
    return after;
  };
  const fold = (change_id: string) =>
    entries
      .filter((entry) => entry.change_id === change_id)
      .reduce<ReturnType<typeof evolve>>((state, entry) => evolve(state, parseEvent(entry)), undefined);
  return { run, fold, entries, records };
}

const PROPOSE: Command = { type: "propose", input: INPUT, minor_today: 0, openChanges: [] };
const APPROVE: Command = { type: "approve", name: "ana", note: "fine", target_owner: null };
const APPLIED: Command = { type: "succeed", operation: "apply", circumstance: { adapter: null } };
const ROLLED_BACK: Command = { type: "succeed", operation: "rollback", circumstance: { adapter: null } };
const FAILURE = { stage: "apply", error: "no", host: "absent" };

/** The commands that lead a new change to a status. */
const COMMANDS_TO: Record<Exclude<Status, "proposed">, Command[]> = {
  pending_consent: [PROPOSE],
  denied: [PROPOSE, { type: "deny", name: "ana", note: "" }],
  approved: [PROPOSE, APPROVE],
  applied: [PROPOSE, APPROVE, APPLIED],
  rolled_back: [PROPOSE, APPROVE, APPLIED, ROLLED_BACK],
};

function bringTo(status: Status, usedContext = context()) {
  const log = createLog(usedContext);
  for (const command of COMMANDS_TO[status === "proposed" ? "pending_consent" : status]) log.run("chg_1", command);
  const record = log.records.get("chg_1")!;
  // The specification has this status; no command leads to it.
  if (status === "proposed") log.records.set("chg_1", { ...record, change: { ...record.change, status } });
  return { log, record: log.records.get("chg_1")! };
}

const COMMANDS: Record<string, Command> = {
  approve: APPROVE,
  deny: { type: "deny", name: "ana", note: "" },
  withdraw: { type: "withdraw", name: "pat", note: "" },
  revoke: { type: "revoke", name: "ana", note: "" },
  lapse: { type: "lapse" },
  expire: { type: "expire" },
  apply: APPLIED,
  rollback: ROLLED_BACK,
};

const ALLOWED: Record<Status, string[]> = {
  proposed: ["approve"],
  pending_consent: ["approve", "deny", "withdraw"],
  approved: ["apply", "revoke"],
  applied: ["rollback"],
  rolled_back: [],
  denied: [],
};

/** Transitions that are caused by time. */
const TIMED_TRANSITIONS: Partial<Record<Status, string>> = { pending_consent: "expire", approved: "lapse" };

describe.each(STATUSES)("a change that is %s", (status) => {
  test("has the allowed actions of its status", () => {
    expect(listAllowedActions(bringTo(status).record.change, context().intent)).toEqual(ALLOWED[status]);
  });

  test.each(Object.keys(COMMANDS))("%s: is accepted or rejected as the table says", (name) => {
    const { log } = bringTo(status);
    const isAllowed = ALLOWED[status].includes(name) || TIMED_TRANSITIONS[status] === name;
    const execute = () => log.run("chg_1", COMMANDS[name]!);
    if (isAllowed) return expect(execute).not.toThrow();
    expect(execute).toThrow(
      expect.objectContaining({
        code: "illegal_transition",
        details: { change_id: "chg_1", current_status: status, allowed: ALLOWED[status] },
      }),
    );
  });

  test.each(["apply", "rollback"] as const)("%s: may begin only where its result may be recorded", (operation) => {
    const { record } = bringTo(status);
    const begin = () => requireOperable(record.change, operation, context().intent);
    if (ALLOWED[status].includes(operation)) expect(begin).not.toThrow();
    else expect(begin).toThrow(expect.objectContaining({ code: "illegal_transition" }));
  });
});

describe("an event that cannot follow is rejected:", () => {
  const event = (overrides: Partial<ChangeEvent>): ChangeEvent => ({
    id: 9,
    timestamp: "2026-01-02T04:00:00.000Z",
    event_type: "consent_decision",
    change_id: "chg_1",
    detail: { decision: "approved", approver: "ana", note: "" },
    ...overrides,
  });
  const pending = () => bringTo("pending_consent").record;

  test("but an approval of a pending change is accepted", () => {
    // `audit`: the ids of the proposal's entry and of this one.
    expect(evolve(pending(), event({}))).toMatchObject({ change: { status: "approved" }, audit: [1, 9] });
  });

  test("an approval with fewer consents than the entry of the proposal requires", () => {
    const log = createLog(context({ required_approvers: { standard: 2 } }));
    const proposed = log.run("chg_1", PROPOSE);
    const approveWithStatus = (status: Status) =>
      evolve(proposed, event({ detail: { decision: "approved", approver: "ana", note: "", status } }));
    expect(approveWithStatus("approved")).toBeUndefined();
    expect(approveWithStatus("pending_consent")).toMatchObject({
      change: { status: "pending_consent", approvals: [{}] },
    });
  });

  test("but an approval that names no approver and leaves the change pending is accepted", () => {
    const detail = { decision: "approved", status: "pending_consent" } as const;
    expect(evolve(pending(), event({ detail }))).toMatchObject({ change: { status: "pending_consent" } });
  });

  test.each<[string, Partial<ChangeEvent>]>([
    ["of another change", { change_id: "chg_2" }],
    ["about another content", { detail: { decision: "approved", approver: "ana", note: "", digest: "0".repeat(64) } }],
    ["without a decision", { detail: {} }],
    ["with an unknown decision", { detail: { decision: "constructor" as never } }],
    ["of an apply without consent", { event_type: "change_applied" }],
    ["of a failed apply without consent", { event_type: "change_apply_failed" }],
    ["of drift before the apply", { event_type: "change_drifted" }],
    ["of a second proposal", { event_type: "change_proposed", detail: { status: "pending_consent", digest: "0" } }],
    ["of a type that concerns no change", { event_type: "kpi_refreshed", detail: {} }],
    ["of an unknown type", { event_type: "constructor", detail: {} }],
  ])("%s", (_, overrides) => {
    expect(evolve(pending(), event(overrides))).toBeUndefined();
  });

  test.each<[string, Partial<ChangeEvent>]>([
    ["that is not a proposal", {}],
    [
      "whose status contradicts its tier",
      { event_type: "change_proposed", detail: { status: "approved", digest: "d" } },
    ],
    ["without a digest", { event_type: "change_proposed", detail: { status: "pending_consent" } }],
  ])("a first event %s", (_, overrides) => {
    expect(evolve(undefined, event(overrides))).toBeUndefined();
  });

  test("but a detail that is not an object is read as an empty one", () => {
    for (const detail of ["", "plain", "null", "7", '"text"'])
      expect(parseEvent({ ...event({}), detail }).detail).toEqual({});
  });
});

describe("an entry", () => {
  const decideDetail = (change: Change | undefined, command: Command, usedContext = context()) =>
    decide(change, command, usedContext).detail;
  const proposal = (overrides: Partial<ProposeInput> = {}): Command => ({
    ...PROPOSE,
    input: { ...INPUT, ...overrides },
  });
  const MINOR = { minor: { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50 } };
  const minor = { tier: "minor", affected_users: 1, risk: "low", reversible: true } as const;

  test.each<[string, string | undefined, Actor["authenticated"], string]>([
    ["a model", "llm:m1", "token", "model"],
    ["a peer", "peer:acme@2", null, "peer"],
    ["a caller whom the proxy names", "pat", "proxy", "person"],
    ["a caller who claims a name", "pat", "claimed", "unknown"],
    ["a caller with the token", "pat", "token", "unknown"],
    ["a caller without a name", undefined, null, "unknown"],
  ])("of a proposal names the kind of its proposer: %s", (_, proposer, authenticated, proposer_kind) => {
    const actor: Actor = { actor: proposer ?? null, authenticated };
    expect(decideDetail(undefined, proposal({ proposer }), context({}, actor))).toMatchObject({
      proposer_kind,
      ...actor,
    });
  });

  test("of a minor change has its number of the day; a change of a model is never minor", () => {
    const command = { ...proposal(minor), minor_today: 4 } as Command;
    expect(decideDetail(undefined, command, context(MINOR))).toMatchObject({
      tier: "minor",
      minor_number: 5,
      status: "approved",
      approver: "policy:minor",
    });
    const modelDetail = decideDetail(undefined, proposal({ ...minor, proposer: "llm:m1" }), context(MINOR));
    expect(modelDetail).toMatchObject({ tier: "standard", status: "pending_consent" });
    expect(modelDetail).not.toHaveProperty("minor_number");
    expect(decideDetail(undefined, proposal(), context(MINOR))).not.toHaveProperty("minor_number");
  });

  test("and the record name the superseded change, which the digest does not cover", () => {
    const log = createLog(context());
    const superseding = log.run("chg_1", proposal({ supersedes: "chg_0" }));
    const first = log.run("chg_2", proposal());
    expect(JSON.parse(log.entries[0]!.detail).supersedes).toBe("chg_0");
    expect(superseding.change.supersedes).toBe("chg_0");
    expect(first.change).not.toHaveProperty("supersedes");
    expect(superseding.change.digest).toBe(first.change.digest);
  });

  test("of the approval that completes the quorum names the owner of the target", () => {
    const usedContext = context({ required_approvers: { standard: 2 } });
    const log = createLog(usedContext);
    const { change } = log.run("chg_1", PROPOSE);
    expect(decideDetail(change, { ...APPROVE, target_owner: "chg_0" } as Command, usedContext)).not.toHaveProperty(
      "target_owner",
    );
    const afterFirst = log.run("chg_1", APPROVE).change;
    expect(
      decideDetail(afterFirst, { ...APPROVE, name: "bo", target_owner: "chg_0" } as Command, usedContext),
    ).toMatchObject({
      target_owner: "chg_0",
      progress: "2 of 2",
    });
  });

  test("of an apply has the KPIs and, if the adapter reports it, the previous digest", () => {
    const facts = { kpis: { csat: 4 }, previous_digest: null };
    const { log } = bringTo("approved");
    // Entries 1 and 2 are the proposal and its approval.
    const { applied } = log.run("chg_1", { ...APPLIED, circumstance: { adapter: null, ...facts } } as Command);
    expect(applied).toEqual({ entry: 3, at: log.entries[2]!.timestamp, ...facts });
    expect(bringTo("applied").record.applied).toEqual({ entry: 3, at: expect.any(String), kpis: {} });
    expect(bringTo("approved").record.applied).toBeNull();
  });

  test("of every step names the manifest hash, the digest and the actor", () => {
    for (const [status, command] of [
      ["pending_consent", APPROVE],
      ["approved", APPLIED],
      ["applied", { type: "fail", operation: "rollback", circumstance: FAILURE }],
      ["applied", { type: "drift", circumstance: { state: "missing", host: "absent" } }],
    ] as [Status, Command][]) {
      const { change } = bringTo(status).record;
      const { manifest_hash } = context();
      expect(decideDetail(change, command)).toMatchObject({ digest: change.digest, manifest_hash, ...ANA });
    }
  });
});

/** Draws a command, which may be illegal. */
function drawCommand(random: (below: number) => number): Command {
  // `Ana ` is the same person as `ana`.
  const name = ["ana", "bo", "Ana ", "pat"][random(4)]!;
  const note = ["", "fine", "é 🙂"][random(3)]!;
  const operation = (["apply", "rollback"] as const)[random(2)]!;
  const facts = { kpis: { csat: random(9) }, ...(random(2) === 0 ? { previous_digest: null } : {}) };
  return [
    { ...PROPOSE, input: { ...INPUT, tier: (["minor", "major"] as const)[random(2)], risk: "low", affected_users: 1 } },
    { type: "approve", name, note, target_owner: random(2) === 0 ? "chg_9" : null },
    { type: "approve", name, note, target_owner: null },
    { type: (["deny", "withdraw"] as const)[random(2)]!, name, note },
    { type: "expire" },
    { type: "succeed", operation, circumstance: { adapter: null, ...(operation === "apply" ? facts : {}) } },
    { type: "succeed", operation, circumstance: { adapter: { name: "a", result: "done" } } },
    { type: "fail", operation, circumstance: FAILURE },
    { type: "drift", circumstance: { state: "missing", host: "absent" } },
  ][random(9)] as Command;
}

test("in random scenarios each record is equal to the fold of its entries", () => {
  const statuses = new Set<string>();
  for (let seed = 1; seed <= 300; seed++) {
    const random = seededIntegers(seed);
    const usedContext = context({
      required_approvers: { standard: 1, major: 1 + random(3) },
      minor: { kinds: ["config"], targets: ["*"] },
    });
    const log = createLog({ ...usedContext, actor: random(2) === 0 ? ANA : serviceActor() });
    for (let step = 0; step < 40; step++) {
      const change_id = `chg_${random(3)}`;
      const command = drawCommand(random);
      if ((command.type === "propose") === log.records.has(change_id)) continue;
      try {
        statuses.add(log.run(change_id, command).change.status);
      } catch (error) {
        expect(error).toMatchObject({ name: "AppError" });
      }
    }
    for (const [change_id, record] of log.records) {
      const stored = JSON.parse(JSON.stringify(record)) as ChangeRecord;
      expect(listDifferences(log.fold(change_id)!, stored, portableSha256), `seed ${seed}`).toEqual([]);
    }
  }
  expect([...statuses].sort()).toEqual(STATUSES.filter((status) => status !== "proposed").sort());
});
