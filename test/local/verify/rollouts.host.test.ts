/** Both verifiers compute the decisions of rollouts again, and reject what the rule would not have decided. */
import { spawnSync } from "node:child_process";
import { beforeAll, expect, test } from "vitest";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { canonicalContent } from "../../../lib/changes/rules/content.ts";
import { asRead } from "../../../lib/changes/rules/written_record.ts";
import { verifyCertificate } from "../../../local/verify/certificate.ts";
import { rehashed } from "../../tamper/world.ts";
import { service } from "../../support/service.ts";
import { actOnRollout, AGENTS, rollout, STAGES, totals } from "../../support/rollouts.ts";
import { judgeExports } from "./judge_export.ts";

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

/** A rollout with a hold, a mismatch and a resume that is rolled back at its second step, and one that a person advances. */
beforeAll(async () => {
  const { api, act, feedNow, hours } = await rollout();
  await feedNow(totals(50_000, 1000));
  await act(0, "hold");
  await act(0, "resume");
  await feedNow(totals(100_000, 900));
  await feedNow(totals(1_000_000, 1000));
  await act(0, "resume");
  hours(25);
  await feedNow(totals(2_000_000, 1000));
  await feedNow({ step: 1, ...totals(1000, 5000) });
  hours(1);
  await feedNow({ step: 1, ...totals(100_000, 5000, [0.1, 0.2]) });
  const stages = JSON.stringify({ ...STAGES, ...MANUAL });
  const by_hand = await api.bring("applied", { target: "ui.b", value: "1", stages });
  hours(24);
  const second = actOnRollout(api, by_hand);
  await second.feedNow();
  await second.act(0, "advance");
  honest = await api.audit();
  carried = await readCarried(api.deps.store);
  judged = await judgeExports([honest, ...FORGED.map(([, forge]) => forge())].map(textOf), true);
});

/** Reads the lines that stand behind the entries of proposals and intents. */
async function readCarried({ list }: Pick<Awaited<ReturnType<typeof rollout>>["api"]["deps"]["store"], "list">) {
  const lines = new Map<string, string>();
  for (const stored of await list("changes", { limit: 9 }))
    lines.set(
      stored.id,
      `{"change_id":${JSON.stringify(stored.id)},"content":${canonicalContent(asRead(stored).change)}}\n`,
    );
  for (const { id, value } of await list("manifests", { limit: 9 }))
    lines.set(id, `{"manifest_hash":${JSON.stringify(id)},"manifest":${value}}\n`);
  return lines;
}

const textOf = (log: Log): string =>
  rehashed(log, 0)
    .map((entry) => {
      const { event_type, change_id, detail } = entry;
      const key =
        event_type === "change_proposed"
          ? change_id
          : event_type === "intent_in_force"
            ? JSON.parse(detail).manifest_hash
            : "";
      return `${JSON.stringify(entry)}\n${carried.get(key) ?? ""}`;
    })
    .join("");

const find = (event: string, nth = 0): AuditEntry => honest.filter(({ event_type }) => event_type === event)[nth]!;

/** Edits the detail of an entry. */
const edited = (event: string, nth: number, edit: (detail: Detail) => object, to: Partial<AuditEntry> = {}): Log => {
  const { id } = find(event, nth);
  return honest.map((entry) =>
    entry.id === id ? { ...entry, ...to, detail: JSON.stringify(edit(JSON.parse(entry.detail))) } : entry,
  );
};
const without = (event: string, nth = 0): Log => {
  const { id } = find(event, nth);
  return honest.filter((entry) => entry.id !== id);
};
/** Makes more users of the treated arm succeed in the totals of an entry. */
const improve = ({ totals: rows, ...detail }: Detail) => ({
  ...detail,
  totals: rows.map((row) => ({ ...row, treated: { ...row.treated, sum: row.treated.sum + 500 } })),
});
/** Replaces a decision by another entry with the same facts. */
const asAdvance = (detail: Detail) => ({
  ...detail,
  decision: "advance",
  reason: "budget",
  to: detail.step + 1,
});

const NOT_DECIDED = "it is not what the rule cs1 decides on its totals";
const OTHER_RESULTS = "its results are not those of the rule cs1 on its totals";

const FORGED: readonly (readonly [string, () => Log, string])[] = [
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
    () => edited("stage_advanced", 0, (one) => ({ ...one, reason: "manual" })),
    NOT_DECIDED,
  ],
  [
    "an advance before its hours",
    () => edited("stage_advanced", 1, (one) => ({ ...one, hours: 23, silent: 0 })),
    "its hours are not those since its step began",
  ],
  [
    "a skipped step",
    () => edited("stage_advanced", 0, (one) => ({ ...one, to: 2, share: null })),
    "it does not advance to the next step",
  ],
  [
    "a share that the plan does not have",
    () => edited("stage_advanced", 0, (one) => ({ ...one, share: 9000 })),
    "it does not advance to the next step",
  ],
  ["a missing advance", () => without("stage_advanced"), "it is about another step than 0, where the rollout stands"],
  [
    "a first step that is none",
    () => edited("change_applied", 0, (one) => ({ ...one, stage: { step: 1, share: 5000 } })),
    "it does not begin at the first step of its rollout",
  ],
  [
    "a stop without a reason",
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
    "it is rolled back by policy:stages, and the rule of its rollout did not order that",
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
    "its totals lack some that were used before it",
  ],
  [
    "a decision that does not count from the resume",
    () => edited("stage_advanced", 0, ({ baseline: _, ...one }) => one),
    "it does not count from the last resume out of a mismatch",
  ],
  [
    "a resume of what nobody holds",
    () => without("stage_held", 1),
    "it resumes a rollout that nobody holds and that has no mismatch",
  ],
  [
    "an advance of what a person holds",
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
    "its totals of conversion are of another feeder than the plan names",
  ],
  [
    "a wrong time of silence",
    () => edited("stage_stopped", 0, (one) => ({ ...one, silent: 30 })),
    "it is not silent for as long as it says",
  ],
  [
    "an entry after everybody has the value",
    () => edited("stage_advanced", 1, (one) => one).concat({ ...find("stage_advanced", 1), id: honest.length + 1 }),
    "it is about another step than 1, where the rollout stands",
  ],
];

test("the log as it is", () => {
  expect(judged[0]).toEqual({ typescript: [], python: [] });
});

test.each(FORGED.map(([name, , message], index) => [name, message, index] as const))("%s", (_, message, index) => {
  const { typescript, python } = judged[index + 1]!;
  expect(python).toEqual(typescript);
  expect(typescript).toContain(message);
});

test("a certificate has what both verifiers need to compute its decisions again", async () => {
  const api = await service({ intent: { principals: AGENTS } });
  const change_id = await api.bring("applied", { value: "true", stages: JSON.stringify({ ...STAGES, ...MANUAL }) });
  const { act, feedNow, hours } = actOnRollout(api, change_id);
  hours(24);
  await feedNow();
  await act(0, "advance");
  const { text } = await api.get(`changes/${change_id}/certificate`);
  const { findings, remarks, steps } = verifyCertificate(Buffer.from(text), { manifests: [] });
  expect([findings, steps.map(({ event }) => event).slice(-2)]).toEqual([[], ["stage_held", "stage_advanced"]]);
  expect(remarks.join()).not.toContain("not computed again");
  const driver = `
import json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "docs")
import verify_audit
report = verify_audit.Certificate().verify(sys.stdin.buffer.read())
print(json.dumps([report["findings"], report["remarks"], [step["event"] for step in report["steps"]]]))
`;
  const { stdout } = spawnSync("python3", ["-c", driver], { input: text, encoding: "utf8" });
  expect(JSON.parse(stdout)).toEqual([[], remarks, steps.map(({ event }) => event)]);
});
