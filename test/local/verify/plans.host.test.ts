/** Both verifiers reject entries with other targets than those of their plan, in a log whose hashes were computed again. */
import { beforeAll, expect, test } from "vitest";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { editableTarget } from "../../support/editable_target.ts";
import { service } from "../../support/service.ts";
import { rehashed } from "../../tamper/world.ts";
import { judgeExports } from "./judge_export.ts";

type Detail = Record<string, unknown>;
type Target = Record<string, unknown> & { target: string };
const SETS = ["ui.a", "ui.b", "ui.c"].map((target) => ({ tenant_id: "t1", target, value: 1 }));
const PLAN = { tenant_id: "*", kind: "config", target: "release.7", summary: "Relaunch", reversible: true, sets: SETS };

let lines: string[];
let judged: Awaited<ReturnType<typeof judgeExports>>;
let withContents: Awaited<ReturnType<typeof judgeExports>>;

/** Edits the targets that the entry of an event names. */
const forge = (event: string, edit: (sets: Target[]) => unknown): string => {
  const entries = lines.filter((line) => line.includes('"event_type"')).map((line) => JSON.parse(line) as AuditEntry);
  const edited = entries.map((entry) => {
    if (entry.event_type !== event) return entry;
    const detail = JSON.parse(entry.detail) as Detail;
    return { ...entry, detail: JSON.stringify({ ...detail, sets: edit(detail["sets"] as Target[]) }) };
  });
  return rehashed(edited, 0)
    .map((entry) => `${JSON.stringify(entry)}\n`)
    .join("");
};

/** Replaces the first target by another, which comes last. */
const renamed = (sets: Target[]): Target[] => [...sets.slice(1), { ...sets[0]!, target: "ui.x" }];
const ALL = "the targets in its sets are not those of its plan";
const NO_TARGETS = "its sets is not a valid list of targets of its plan";
const STILL_HELD = "after its rollback a target of its plan is still applied";
const NOT_OWNER = "it restores the value of a change that is not in force on its target";
const NOT_LEFT = "it rolls back a target of its plan that is not applied";
const FORGED: readonly (readonly [
  forgery: string,
  event: string,
  edit: (sets: Target[]) => unknown,
  message: string,
])[] = [
  ["an apply of some targets", "change_applied", (sets) => sets.slice(1), ALL],
  ["an apply of another target", "change_applied", renamed, ALL],
  ["an apply without targets", "change_applied", () => undefined, NO_TARGETS],
  ["an apply of one target twice", "change_applied", (sets) => [sets[0], ...sets], NO_TARGETS],
  ["a rollback of another target", "change_rolled_back", renamed, NOT_LEFT],
  ["a rollback of some targets", "change_rolled_back", (sets) => sets.slice(1), STILL_HELD],
  ["a restore of another target", "value_restored", renamed, NOT_OWNER],
  ["a restore without targets", "value_restored", () => undefined, NO_TARGETS],
  // A plan has two targets or more.
  ["a proposal of one target", "change_proposed", (sets) => sets.slice(2), NO_TARGETS],
  ["a proposal without targets", "change_proposed", () => undefined, "it has sets, but its change is not a plan"],
];

beforeAll(async () => {
  const { adapter, edit } = editableTarget();
  const api = await service({ adapter });
  const { change_id } = (await api.json("propose", PLAN)).body;
  await api.must("approve", change_id);
  await api.must("apply", change_id);
  edit("ui.b", "7");
  expect((await api.post("restore", { change_id, actor: "ops" })).status).toBe(200);
  await api.must("rollback", change_id);
  const { text } = await api.get("audit?format=jsonl&contents=1");
  lines = text.trimEnd().split("\n");
  const entryLines = lines.filter((line) => line.includes('"event_type"')).map((line) => `${line}\n`);
  judged = await judgeExports([entryLines.join(""), ...FORGED.map(([, event, editSets]) => forge(event, editSets))]);
  withContents = await judgeExports([text, forgedContent(text)], true);
});

/** Returns the export with other targets in the proposal's entry than in its content, and new hashes of the entries. */
function forgedContent(text: string): string {
  const entries = forge("change_proposed", renamed).trimEnd().split("\n");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => `${line.includes('"event_type"') ? entries.shift() : line}\n`)
    .join("");
}

test("both verifiers name the option that an export with contents needs", async () => {
  const [report] = await judgeExports([lines.map((line) => `${line}\n`).join("")]);
  const { typescript, python } = report!;
  expect(typescript.length).toBeGreaterThan(0);
  expect(typescript).toEqual(python);
  expect(typescript.filter((message) => !message.includes("with --changes"))).toEqual([]);
});

test("an unforged plan is accepted by both verifiers, with its contents and without", () => {
  expect(judged[0]).toEqual({ typescript: [], python: [] });
  expect(withContents[0]).toEqual({ typescript: [], python: [] });
});

test.each(FORGED.map(([name, , , message], index) => [name, message, index + 1] as const))(
  "%s is rejected by both verifiers",
  (_, message, index) => {
    const { typescript, python } = judged[index]!;
    expect(typescript).toContain(message);
    expect(python).toEqual(typescript);
  },
);

test("an entry with other targets than its content is rejected by both verifiers", () => {
  const { typescript, python } = withContents[1]!;
  expect(typescript).toContain("the targets in its sets are not those of its content");
  expect(python).toEqual(typescript);
});
