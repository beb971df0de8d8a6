/** Both verifiers compute the decisions of rollouts again, and reject those that differ from the rule's. */
import { spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { canonicalContent } from "../../../lib/changes/rules/content.ts";
import { fromStoredChange } from "../../../lib/changes/rules/stored_record.ts";
import { decideRollout } from "../../../lib/rollout/decide_rollout.ts";
import { toCells } from "../../../lib/rollout/samples.ts";
import { verifyCertificate } from "../../../local/verify/certificate.ts";
import { rehashed } from "../../tamper/world.ts";
import { service } from "../../support/service.ts";
import { rolloutClient, AGENTS, openRollout, sample, STAGES, totals } from "../../support/rollouts.ts";
import { judge, judgeExports } from "./judge_export.ts";

/** A row of totals, as far as it is forged here. */
interface Row {
  treated: { n: number; sum: number };
  [name: string]: unknown;
}
interface Detail {
  totals: Row[];
  step: number;
  [name: string]: unknown;
}
type Log = readonly AuditEntry[];

let honest: Log;
let carried: ReadonlyMap<string, string>;
let judged: Awaited<ReturnType<typeof judgeExports>>;

const MANUAL = { steps: [{ share: 1000, advance: "manual", min_hours: 24 }] };

/**
 * Creates a rollout that is rolled back at its second step, and one that a person advances. Entries by event type and index:
 * - first rollout, step 0: `stage_held` 0 (`min_hours`), `stage_held` 1 (by a person), `stage_resumed` 0, `stage_held` 2
 *   (`mismatch`), `stage_resumed` 1 (its totals are the baseline), `stage_advanced` 0;
 * - first rollout, step 1: `stage_held` 3 (`min_hours`), `stage_stopped` 0, `change_rolled_back` 0;
 * - second rollout: `stage_held` 4 (`manual`), `stage_advanced` 1 (by a person).
 */
beforeAll(async () => {
  const { api, act, feedNow, passHours } = await openRollout();
  await feedNow(totals(50_000, 1000));
  await act(0, "hold");
  await act(0, "resume");
  await feedNow(totals(100_000, 900));
  await feedNow(totals(1_000_000, 1000));
  await act(0, "resume");
  passHours(25);
  await feedNow(totals(2_000_000, 1000));
  await feedNow({ step: 1, ...totals(1000, 5000) });
  passHours(1);
  await feedNow({ step: 1, ...totals(100_000, 5000, [0.1, 0.2]) });
  const stages = JSON.stringify({ ...STAGES, ...MANUAL });
  const by_hand = await api.bring("applied", { target: "ui.b", value: "1", stages });
  passHours(24);
  const second = rolloutClient(api, by_hand);
  await second.feedNow();
  await second.act(0, "advance");
  honest = await api.audit();
  carried = await readCarried(api.deps.store);
  // `judged[0]` is of the unforged log, `judged[index + 1]` of the forgery at `index`.
  judged = await judgeExports([honest, ...FORGED.map(([, forge]) => forge())].map(textOf), true);
});

/** Reads the lines that follow the entries of proposals and intents. */
async function readCarried({ list }: Pick<Awaited<ReturnType<typeof openRollout>>["api"]["deps"]["store"], "list">) {
  const lines = new Map<string, string>();
  for (const stored of await list("changes", { limit: 9 }))
    lines.set(
      stored.id,
      `{"change_id":${JSON.stringify(stored.id)},"content":${canonicalContent(fromStoredChange(stored).change)}}\n`,
    );
  for (const { id, value } of await list("manifests", { limit: 9 }))
    lines.set(id, `{"manifest_hash":${JSON.stringify(id)},"manifest":${value}}\n`);
  return lines;
}

/** Returns the text of an export: entries with valid hashes, each proposal and intent followed by its content. */
const textOf = (log: Log): string => textWith(log, carried);

const textWith = (log: Log, lines: ReadonlyMap<string, string>): string =>
  rehashed(log, 0)
    .map((entry) => {
      const { event_type, change_id, detail } = entry;
      let key = "";
      if (event_type === "change_proposed") key = change_id;
      if (event_type === "intent_in_force") key = JSON.parse(detail).manifest_hash;
      return `${JSON.stringify(entry)}\n${lines.get(key) ?? ""}`;
    })
    .join("");

const find = (event: string, nth = 0): AuditEntry => honest.filter(({ event_type }) => event_type === event)[nth]!;

/** Returns the log with another detail, and other fields, of an entry; `nth` is its index among the entries of the event. */
const edited = (
  event: string,
  nth: number,
  edit: (detail: Detail) => object,
  fields: Partial<AuditEntry> = {},
  log: Log = honest,
): Log => {
  const { id } = find(event, nth);
  return log.map((entry) =>
    entry.id === id ? { ...entry, ...fields, detail: JSON.stringify(edit(JSON.parse(entry.detail))) } : entry,
  );
};
/** Returns the log without an entry. */
const without = (event: string, nth = 0): Log => {
  const { id } = find(event, nth);
  return honest.filter((entry) => entry.id !== id);
};
/** Makes more users of the treated arm succeed in the totals of an entry. */
const improve = ({ totals: rows, ...detail }: Detail) => ({
  ...detail,
  totals: rows.map((row) => ({ ...row, treated: { ...row.treated, sum: row.treated.sum + 500 } })),
});
/** Returns the log up to the apply, with other stages in the proposal's entry and a first share that matches them. */
const staged = (stages: object, share: unknown = 1000): Log =>
  edited("change_applied", 0, (one) => ({ ...one, stage: { step: 0, share } }), {}, proposedWith(stages)).filter(
    ({ id }) => id <= find("change_applied").id,
  );
const proposedWith = (stages: object): Log =>
  edited("change_proposed", 0, (one) => ({
    ...one,
    stages: { shares: [1000, 5000], fed_by: STAGES.fed_by, ...stages },
  }));
/** Edits each row of totals of an entry. */
const fedWith = (event: string, nth: number, over: object): Log =>
  edited(event, nth, (one) => ({ ...one, totals: one.totals.map((row) => ({ ...row, ...over })) }));
/** Returns a decision with other sums of squares than a binary KPI has, and the readings that follow from them. */
function squared({ totals: rows, ...detail }: Detail) {
  // For a binary KPI `sum2` is `sum`, since each success counts 1.
  const arm = ({ n, sum }: Row["treated"]) => ({ n, sum, sum2: 0.3 * sum });
  const stated = rows.map((row) => ({
    ...row,
    treated: arm(row.treated),
    control: arm(row["control"] as Row["treated"]),
  }));
  const watch = STAGES.watch.map((one) => ({ ...one, kind: "mean", bounds: [0, 1] }));
  const { step, hours, silent } = detail as unknown as { step: number; hours: number; silent: number };
  const state = { step, hours, silent, cells: toCells(stated as unknown as Parameters<typeof toCells>[0]) };
  const { readings } = decideRollout(
    { ...STAGES, watch } as unknown as Parameters<typeof decideRollout>[0],
    state,
    undefined,
  );
  return { ...detail, totals: stated, readings };
}
/** Returns the detail of an advance with the facts of another decision. */
const asAdvance = (detail: Detail) => ({
  ...detail,
  decision: "advance",
  reason: "budget",
  to: detail.step + 1,
});

const NOT_DECIDED = "its decision is not that of the rule cs1 on its totals";
const OTHER_RESULTS = "its readings are not those of the rule cs1 on its totals";
const OTHER_STAGES = "its stages are not those of its content";
const NO_STAGES = "its stages do not have rising shares and a fed_by";
const OF_NOBODY = "its actor is not a person, and its action needs one";
const WRONG_ORDER = "its ordered is before its step began, or after itself";
const NO_TOTALS = "its totals are malformed";

const FORGED: readonly (readonly [forgery: string, forge: () => Log, message: string])[] = [
  [
    "an advance that the rule does not allow",
    () =>
      edited("stage_held", 0, (detail) => ({ ...asAdvance(detail), share: 5000 }), { event_type: "stage_advanced" }),
    NOT_DECIDED,
  ],
  ["an advance with better totals", () => edited("stage_advanced", 0, improve), OTHER_RESULTS],
  [
    "an advance for another reason",
    () => edited("stage_advanced", 0, (one) => ({ ...one, reason: "proven" })),
    NOT_DECIDED,
  ],
  [
    "an advance by hand of a step that the rule advances",
    () => edited("stage_advanced", 0, (one) => ({ ...one, reason: "manual", actor: "ana" })),
    NOT_DECIDED,
  ],
  [
    "an advance before its hours",
    () => edited("stage_advanced", 1, (one) => ({ ...one, hours: 23, silent: 0 })),
    "its hours do not match the time since its step began",
  ],
  [
    "a skipped step",
    () => edited("stage_advanced", 0, (one) => ({ ...one, to: 2, share: null })),
    "its to and share are not those of the next step",
  ],
  [
    "a share that the plan does not have",
    () => edited("stage_advanced", 0, (one) => ({ ...one, share: 9000 })),
    "its to and share are not those of the next step",
  ],
  ["a missing advance", () => without("stage_advanced"), "its step is not 0, the current step of the rollout"],
  [
    "an apply at the second step",
    () => edited("change_applied", 0, (one) => ({ ...one, stage: { step: 1, share: 5000 } })),
    "its stage is not the first step of its rollout",
  ],
  [
    "a stop on totals that give no reason for it",
    () => edited("stage_stopped", 0, (one) => ({ ...one, totals: JSON.parse(find("stage_advanced").detail).totals })),
    OTHER_RESULTS,
  ],
  [
    "a stop that the rule does not order",
    () =>
      edited("stage_advanced", 0, (one) => ({ ...one, decision: "rollback", reason: "worse" }), {
        event_type: "stage_stopped",
      }),
    NOT_DECIDED,
  ],
  [
    "a rollback that the rule did not order",
    () => without("stage_stopped"),
    "it was rolled back by policy:stages, but the rule of its rollout did not order that",
  ],
  [
    "other totals at the resume",
    () =>
      edited("stage_resumed", 1, (one) => ({
        ...one,
        totals: one.totals.map((row) => ({ ...row, treated: { n: 0, sum: 0 }, control: { n: 0, sum: 0 } })),
      })),
    "its totals of conversion have fewer users than an earlier entry",
  ],
  [
    "no totals at the resume",
    () => edited("stage_resumed", 1, ({ totals: _, ...one }) => one),
    "its totals lack a KPI or step of earlier entries",
  ],
  [
    "a decision that does not count from the resume",
    () => edited("stage_advanced", 0, ({ baseline: _, ...one }) => one),
    "its baseline is not the last resume after a mismatch",
  ],
  ["a resume of a rollout that is not held", () => without("stage_held", 1), "it resumes a rollout that is not held"],
  // Only a hold by the rule has a `rule`.
  [
    "an advance of a rollout that a person holds",
    () => edited("stage_held", 4, ({ rule: _, ...one }) => ({ ...one, reason: "by_hand" })),
    "it advances a rollout that a person holds",
  ],
  [
    "an advance out of a mismatch",
    () => edited("stage_held", 4, (one) => ({ ...one, reason: "mismatch" })),
    "it advances a rollout that a mismatch holds",
  ],
  [
    "totals of another feeder",
    () =>
      edited("stage_advanced", 0, (one) => ({
        ...one,
        totals: one.totals.map((row) => ({ ...row, by: "agent:other" })),
      })),
    "its totals of conversion are not from the fed_by of its stages",
  ],
  [
    "a wrong time of silence",
    () => edited("stage_stopped", 0, (one) => ({ ...one, silent: 30 })),
    "its silent does not match the age of its oldest totals",
  ],
  [
    "an advance after the last step",
    () => [...honest, { ...find("stage_advanced", 1), id: honest.length + 1 }],
    "its step is not 1, the current step of the rollout",
  ],
  ["another share than the plan's", () => staged({ shares: [9999] }, 9999), OTHER_STAGES],
  ["the plan without one of its steps", () => staged({ shares: [1000] }), OTHER_STAGES],
  ["another feeder than the plan's", () => staged({ fed_by: "agent:other" }), OTHER_STAGES],
  [
    "entries without the stages of the content",
    () =>
      edited(
        "change_applied",
        0,
        ({ stage: _, ...one }) => one,
        {},
        edited("change_proposed", 0, ({ stages: _, ...one }) => one),
      ).filter(({ id }) => id <= find("change_applied").id),
    OTHER_STAGES,
  ],
  [
    "an apply_when that the content does not have",
    () => edited("change_proposed", 0, (one) => ({ ...one, apply_when: "approved" })),
    "its apply_when is not that of its content",
  ],
  ["no shares", () => staged({ shares: [] }), NO_STAGES],
  ["shares that are objects", () => staged({ shares: [{ a: 1 }] }, { a: 1 }), NO_STAGES],
  // In Python, True == 1: the verifier there must compare the types too.
  ["a share that is true", () => staged({ shares: [1] }, true), "its stage is not the first step of its rollout"],
  ["shares that fall", () => staged({ shares: [1000, 500] }), NO_STAGES],
  [
    "an advance ordered before its step began, over a person's hold",
    () =>
      edited(
        "stage_advanced",
        0,
        (one) => ({ ...one, ordered: 1 }),
        {},
        edited("stage_held", 4, ({ rule: _, ...one }) => ({ ...one, reason: "by_hand" })),
      ),
    WRONG_ORDER,
  ],
  [
    "an advance ordered after itself",
    () => edited("stage_advanced", 0, (one) => ({ ...one, ordered: 999 })),
    WRONG_ORDER,
  ],
  ["squares of successes that are not successes", () => edited("stage_held", 0, squared), OTHER_RESULTS],
  [
    "an advance by hand whose actor is the service",
    () => edited("stage_advanced", 1, (one) => ({ ...one, actor: "policy:stages" })),
    OF_NOBODY,
  ],
  [
    "an advance by hand without an actor",
    () => edited("stage_advanced", 1, (one) => ({ ...one, actor: null })),
    OF_NOBODY,
  ],
  [
    "an advance by hand without an actor, ordered under the same intent",
    () => edited("stage_advanced", 1, (one) => ({ ...one, actor: null, ordered: find("stage_advanced", 1).id })),
    OF_NOBODY,
  ],
  ["a resume without an actor", () => edited("stage_resumed", 0, (one) => ({ ...one, actor: null })), OF_NOBODY],
  [
    "a resume whose actor is the service",
    () => edited("stage_resumed", 0, (one) => ({ ...one, actor: "policy:stages" })),
    OF_NOBODY,
  ],
  [
    "a mismatch without a rule",
    () => edited("stage_held", 2, ({ rule: _, ...one }) => ({ ...one, reason: "mismatch" })),
    "its reason is mismatch, but its rule is missing",
  ],
  [
    "totals of the future",
    () => fedWith("stage_advanced", 1, { as_of: "2030-01-01T00:00:00.000Z", at: "2030-01-01T00:00:00.000Z" }),
    "its totals of conversion are later than the entry",
  ],
  ["totals of no time", () => fedWith("stage_stopped", 0, { as_of: "zzz" }), NO_TOTALS],
  [
    "totals of a day that does not exist",
    () => fedWith("stage_stopped", 0, { at: "2026-02-30T00:00:00.000Z" }),
    NO_TOTALS,
  ],
  ["totals without a sum", () => fedWith("stage_advanced", 1, { treated: { n: 9000 } }), NO_TOTALS],
  ["totals of fewer users than none", () => fedWith("stage_held", 0, { treated: { n: -5, sum: 0 } }), NO_TOTALS],
  [
    "an advance with the decision of a rollback",
    () => edited("stage_advanced", 1, (one) => ({ ...one, decision: "rollback" })),
    "its decision does not match its event_type",
  ],
  [
    "a stop by a person",
    () => edited("stage_stopped", 0, (one) => ({ ...one, actor: "ana" })),
    "its actor is not policy:stages, which alone stops a rollout",
  ],
  [
    "a rollback by the service without its `by`",
    () => edited("change_rolled_back", 0, ({ by: _, ...one }) => one, {}, without("stage_stopped")),
    "it was rolled back by policy:stages, but the rule of its rollout did not order that",
  ],
];

test("an unforged log is valid in both verifiers", async () => {
  expect(judged[0]!.python).toEqual([]);
  expect(await judge(textOf(honest), true)).toEqual([]);
});

test.each(FORGED.map(([name, forge, message], index) => [name, forge, message, index] as const))(
  "%s is reported alike by both verifiers",
  async (_, forge, message, index) => {
    // Judged again here, so that mutation tests know which code this test runs.
    const typescript = await judge(textOf(forge()), true);
    expect(judged[index + 1]!.python).toEqual(typescript);
    expect(typescript).toContain(message);
  },
);

test("an advance without an actor is valid if it was ordered under another intent", async () => {
  const { id } = find("stage_advanced", 1);
  const log = edited("stage_advanced", 1, (one) => ({
    ...one,
    actor: null,
    ordered: id,
    manifest_hash: "f".repeat(64),
  }));
  expect(await judgeExports([textOf(log)], true)).toEqual([{ typescript: [], python: [] }]);
});

test("malformed stages in a content are reported by both verifiers", async () => {
  const { change_id, detail } = find("change_proposed");
  const begins = `{"change_id":${JSON.stringify(change_id)},"content":`;
  const content = carried.get(change_id)!.slice(begins.length, -2);
  const texts = [
    ['"watch":[', '"watch":[null,'],
    ['"kind":"binary"', '"kind":"mean"'],
    ['"advance":"budget"', '"advance":"always"'],
    ['"max_silent_hours":24', '"max_silent_hours":"24"'],
  ].map(([from, to]) => {
    const other = content.replace(from!, to!);
    const log = honest.map((entry) => ({
      ...entry,
      detail: entry.detail.replaceAll(JSON.parse(detail).digest, hash("sha256", other, "hex")),
    }));
    return textWith(log, new Map([...carried, [change_id, `${begins}${other}}\n`]]));
  });
  const only = ["the stages of its content are not a valid rollout"];
  expect(await judgeExports(texts, true)).toEqual(texts.map(() => ({ typescript: only, python: only })));
});

/** Valid logs with totals that few feeders send. */
const HONEST: readonly (readonly [string, () => ReturnType<typeof openRollout>])[] = [
  [
    "impossible numbers of a later time before possible ones",
    async () => {
      const opened = await openRollout();
      const { api, feed, feedNow, act, decide, passHours } = opened;
      const as_of = new Date(Date.parse(api.deps.clock.iso()) + 4 * 60_000).toISOString();
      await feed([sample(api, { as_of, treated: { n: 1, sum: 5 } })]);
      await act(0, "hold");
      await decide();
      passHours(1 / 60);
      await feedNow();
      return opened;
    },
  ],
  [
    "values up to 1e15",
    async () => {
      const watch = [{ ...STAGES.watch[0], kind: "mean", bounds: [0, 1e15] }];
      const opened = await openRollout({ stages: { watch } });
      const arm = { n: 10, sum: 1e15, sum2: 1e30 };
      await opened.feedNow({ treated: arm, control: arm });
      return opened;
    },
  ],
  // Python's dates have no year 0.
  ...["0000-01-01T00:00:00Z", "0000-01-01T00:00:00+01:00"].map(
    (as_of) =>
      [
        `totals as of ${as_of}`,
        async () => {
          const opened = await openRollout();
          await opened.act(0, "hold");
          await opened.feedNow({ as_of });
          await opened.act(0, "resume");
          await opened.decide();
          return opened;
        },
      ] as const,
  ),
];

test("unusual totals that a feeder may send are valid in both verifiers", async () => {
  const texts: string[] = [];
  for (const [, live] of HONEST) {
    const { api } = await live();
    texts.push(textWith(await api.audit(), await readCarried(api.deps.store)));
  }
  const results = await judgeExports(texts, true);
  expect(results.map((found, index) => [HONEST[index]![0], found])).toEqual(
    HONEST.map(([name]) => [name, { typescript: [], python: [] }]),
  );
});

test("a certificate has what both verifiers need to compute its decisions again", async () => {
  const api = await service({ intent: { principals: AGENTS } });
  const change_id = await api.bring("applied", { value: "true", stages: JSON.stringify({ ...STAGES, ...MANUAL }) });
  const { act, feedNow, passHours } = rolloutClient(api, change_id);
  passHours(24);
  await feedNow();
  await act(0, "advance");
  const { text } = await api.get(`changes/${change_id}/certificate`);
  const { findings, remarks, steps } = verifyCertificate(Buffer.from(text), { acceptedManifests: [] });
  expect([findings, steps.map(({ event }) => event).slice(-2)]).toEqual([[], ["stage_held", "stage_advanced"]]);
  expect(remarks.join()).not.toContain("not computed again");
  const driver = `
import json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "docs")
import verify_audit
report = verify_audit.CertificateCheck().verify(sys.stdin.buffer.read())
print(json.dumps([report["findings"], report["remarks"], [step["event"] for step in report["steps"]]]))
`;
  const { stdout } = spawnSync("python3", ["-c", driver], { input: text, encoding: "utf8" });
  expect(JSON.parse(stdout)).toEqual([[], remarks, steps.map(({ event }) => event)]);
  const other = text.replace('"share":1000', '"share":1001');
  const listMessages = (found: { message: string }[]) => found.map(({ message }) => message);
  expect(listMessages(verifyCertificate(Buffer.from(other), { acceptedManifests: [] }).findings)).toContain(
    OTHER_STAGES,
  );
  const pythonOfOther = spawnSync("python3", ["-c", driver], { input: other, encoding: "utf8" });
  expect(listMessages(JSON.parse(pythonOfOther.stdout)[0])).toContain(OTHER_STAGES);
});
