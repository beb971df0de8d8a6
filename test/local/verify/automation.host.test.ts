/** Verifies that both verifiers reject an automatic apply that the service would not have made, in a log with valid hashes. */
import { beforeAll, expect, test } from "vitest";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { applyDue } from "../../../lib/changes/automatic_apply.ts";
import { HOUR, MINUTE, START } from "../../support/clock.ts";
import { core } from "../../support/core.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { rehashed } from "../../tamper/world.ts";
import { judge, judgeExports } from "./judge_export.ts";

type Detail = Record<string, unknown>;
type Log = readonly AuditEntry[];

const at = (ms: number): string => new Date(Date.parse(START) + ms).toISOString();
const TIME = at(2 * HOUR);

let honest: Log;
/** The honest log, the forged logs in the order of `FORGED`, and the valid late ones. */
let texts: string[];
/** The findings of both verifiers for each of `texts`. */
let judged: Awaited<ReturnType<typeof judgeExports>>;
let ids: { scheduled: string; once: string; stopped: string };

/** Creates a change with a scheduled time, one applied on approval, and one whose automation ends since it is approved too late. */
beforeAll(async () => {
  const policy = { apply_when: ["manual", "approved", "scheduled"] };
  const api = await core({ adapter: scriptedAdapter(), intent: { policy } });
  const { clock } = api.deps;
  const scheduled = await api.bring("approved", { apply_when: TIME, target: "ui.a", value: 1 });
  const { change_id: stopped } = await api.propose({ apply_when: at(HOUR), target: "ui.b", value: 1 });
  const once = await api.bring("approved", { apply_when: "approved", target: "ui.c", value: 1 });
  await applyDue(api.deps);
  // A clock sample and ten more minutes confirm that a time has passed, so further passes follow the first.
  for (let pass = 0; pass < 3; pass++) {
    clock.advance(pass === 0 ? 2 * HOUR : 10 * MINUTE);
    await applyDue(api.deps);
  }
  await api.must("approve", stopped);
  await api.must("apply", stopped);
  honest = await api.audit();
  ids = { scheduled, once, stopped };
  texts = [honest, ...FORGED.map(([, forge]) => forge()), ...makeLateLogs()].map(textOf);
  judged = await judgeExports(texts);
});

/** Returns the JSON lines of a log, after its hashes were computed again. */
const textOf = (log: Log): string =>
  rehashed(log, 0)
    .map((entry) => `${JSON.stringify(entry)}\n`)
    .join("");

/** Edits the entries of an event about a change. */
const edited = (id: string, event: string, edit: (entry: AuditEntry, detail: Detail) => object): Log =>
  honest.map((entry) => {
    if (entry.change_id !== id || entry.event_type !== event) return entry;
    const detail = JSON.parse(entry.detail) as Detail;
    return { ...entry, ...edit(entry, detail) } as AuditEntry;
  });
const withDetail = (id: string, event: string, overrides: Detail): Log =>
  edited(id, event, (_, detail) => ({ detail: JSON.stringify({ ...detail, ...overrides }) }));
const without = (id: string, event: string): Log =>
  honest.filter((entry) => entry.change_id !== id || entry.event_type !== event);

/** Marks the apply of a change as one found after an interruption. */
const markFound = (id: string, log: Log): Log =>
  log.map((entry) =>
    entry.change_id === id && entry.event_type === "change_applied"
      ? { ...entry, detail: JSON.stringify({ ...JSON.parse(entry.detail), resolved_after_interruption: true }) }
      : entry,
  );

/** Makes the apply of a change the last entry, at `ms`; the entry before it gets the time `before`, unless that is 0. */
function postponed(id: string, ms: number, before = 0): Log {
  const isApply = (entry: AuditEntry) => entry.change_id === id && entry.event_type === "change_applied";
  const others = honest.filter((entry) => !isApply(entry));
  const last = { ...others.at(-1)!, timestamp: at(before) };
  return [
    ...(before === 0 ? others : [...others.slice(0, -1), last]),
    ...honest.filter(isApply).map((entry) => ({ ...entry, timestamp: at(ms) })),
  ];
}

const TOO_LONG = "it was applied by policy:apply_when more than 24 hours after it was due";
const NOT_AUTOMATIC = "it was applied by policy:apply_when, but the change is not set to apply automatically";
const NOT_APPROVED = "it was applied by policy:apply_when, but the change is not approved";

/** An apply begins at most 24 hours after it is due and takes at most one more: `scheduled` is due at 2 h, `once` at 0 h. */
const FORGED: [apply: string, forge: () => Log, message: string][] = [
  [
    "before its time",
    () => edited(ids.scheduled, "change_applied", () => ({ timestamp: at(2 * HOUR - 1) })),
    "it was applied by policy:apply_when before the apply_when of the change",
  ],
  [
    "of a change whose apply_when is not a time",
    () => withDetail(ids.scheduled, "change_proposed", { apply_when: "tomorrow" }),
    "it was applied by policy:apply_when before the apply_when of the change",
  ],
  ["more than a day after its time", () => postponed(ids.scheduled, 27 * HOUR + 1), TOO_LONG],
  ["more than a day after its consent", () => postponed(ids.once, 25 * HOUR + 1), TOO_LONG],
  ["without any consent", () => without(ids.once, "consent_decision"), NOT_APPROVED],
  [
    "of a change that still lacks a consent",
    () => withDetail(ids.once, "consent_decision", { status: "pending_consent" }),
    NOT_APPROVED,
  ],
  [
    "of a change that was denied",
    () => withDetail(ids.scheduled, "consent_decision", { decision: "denied", status: "denied" }),
    NOT_APPROVED,
  ],
  [
    "of a change that was approved after its time",
    () => edited(ids.scheduled, "consent_decision", () => ({ timestamp: at(2 * HOUR + MINUTE) })),
    "it was applied by policy:apply_when, but approved after the apply_when of the change",
  ],
  [
    "of a change without apply_when",
    () =>
      edited(ids.once, "change_proposed", (_, { apply_when: __, ...detail }) => ({ detail: JSON.stringify(detail) })),
    NOT_AUTOMATIC,
  ],
  [
    "after its automation ended",
    () => withDetail(ids.stopped, "change_applied", { actor: "policy:apply_when", authenticated: null }),
    NOT_AUTOMATIC,
  ],
  [
    "before its time, marked as recorded late",
    () =>
      edited(ids.scheduled, "change_applied", (_, detail) => ({
        timestamp: at(2 * HOUR - 1),
        detail: JSON.stringify({ ...detail, late: true }),
      })),
    "it was applied by policy:apply_when before the apply_when of the change",
  ],
  [
    "without any consent, found after an interruption",
    () => markFound(ids.once, without(ids.once, "consent_decision")),
    NOT_APPROVED,
  ],
  [
    "of a change that still lacks a consent, found after an interruption",
    () => markFound(ids.once, withDetail(ids.once, "consent_decision", { status: "pending_consent" })),
    NOT_APPROVED,
  ],
  // Marked as recorded late, it may have begun before its automation ended, but until then there was no consent.
  [
    "of a change that was approved too late, marked as recorded late",
    () => withDetail(ids.stopped, "change_applied", { actor: "policy:apply_when", authenticated: null, late: true }),
    NOT_APPROVED,
  ],
  [
    "whose entry says that its actor had a token",
    () => withDetail(ids.once, "change_applied", { authenticated: "token" }),
    "its actor is policy:apply_when, which is the service itself, but it has an authenticated",
  ],
  [
    "of a change whose consent has the actor policy:apply_when",
    () => withDetail(ids.once, "consent_decision", { actor: "policy:apply_when", authenticated: null }),
    "its actor is policy:apply_when, which only applies changes or stops applying them",
  ],
  [
    "whose end of automation is recorded twice",
    () => honest.flatMap((entry) => (entry.event_type === "automation_stopped" ? [entry, entry] : [entry])),
    "it stops the automatic apply of a change that has none",
  ],
];

test("the unforged log has two automatic applies and one end of automation, and is valid", async () => {
  const applied = honest.filter(
    ({ event_type, detail }) => event_type === "change_applied" && /policy:apply_when/.test(detail),
  );
  expect(applied.map(({ change_id }) => change_id).sort()).toEqual([ids.scheduled, ids.once].sort());
  expect(honest.filter(({ event_type }) => event_type === "automation_stopped")).toHaveLength(1);
  expect(judged[0]).toEqual({ typescript: [], python: [] });
});

/** Two applies at the end of the allowed time; and a later one with the time of the entry before it, as if the clock was behind. */
const makeLateLogs = (): Log[] => [
  postponed(ids.scheduled, 27 * HOUR),
  postponed(ids.once, 25 * HOUR),
  postponed(ids.once, 40 * HOUR, 40 * HOUR),
];

test("an automatic apply at the end of its time, or at the time of the entry before it, is valid", async () => {
  for (const text of texts.slice(1 + FORGED.length)) expect(await judge(text)).toEqual([]);
  expect(judged.slice(1 + FORGED.length)).toEqual(makeLateLogs().map(() => ({ typescript: [], python: [] })));
});

test.each(FORGED.map(([what, , message], index) => [what, message, index + 1] as const))(
  "an automatic apply %s is rejected by both verifiers",
  async (_, message, index) => {
    // The verifier runs again in the test, where mutation testing records the code that each test runs.
    const typescript = await judge(texts[index]!);
    expect(typescript).toContain(message);
    expect(judged[index]).toEqual({ typescript, python: typescript });
  },
);
