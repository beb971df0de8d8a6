import { expect, test } from "vitest";
import { DAY, pass } from "../../support/clock.ts";
import { fails, gate } from "../../support/scripted_adapter.ts";
import { filesInMemory, pulse } from "./pulse_service.ts";

test("a retrospective that could not be written is written by a later cycle, once", async () => {
  const files = filesInMemory();
  let full = true;
  const written: string[] = [];
  const evolved = {
    ...files,
    write: async (name: string, text: string) => {
      if (full) throw new Error("disk full");
      written.push(name);
      await files.write(name, text);
    },
  };
  const service = await pulse({ evolved });
  const id = await service.bring("denied");
  expect((await service.cycle()).failed_steps).toEqual(["learning"]);
  full = false;
  await service.cycle();
  await service.cycle();
  expect(written.filter((name) => name === `retrospective-${id}.md`)).toHaveLength(1);
});

test("without a place for files what is due is dropped, not piled up", async () => {
  const service = await pulse();
  await service.bring("rolled_back");
  expect((await service.cycle()).files_written).toBe(0);
  const later = await pulse({ store: service.deps.store, clock: service.deps.clock, evolved: filesInMemory() });
  await later.bring("denied", { target: "ui.colour" });
  await later.cycle();
  const names = [...(later.deps.evolved as ReturnType<typeof filesInMemory>).texts.keys()];
  expect(names.filter((name) => name.startsWith("retrospective-"))).toHaveLength(1);
});

test("a week is reported once, by the first cycle after it, and none from before the log began", async () => {
  const files = filesInMemory();
  const service = await pulse({ evolved: files });
  const reports = () => [...files.texts.keys()].filter((name) => name.startsWith("report-"));
  await service.cycle();
  // 2 January is in week 1.
  await service.propose();
  await service.cycle();
  expect(reports()).toEqual([]);
  service.hours(48);
  await service.cycle();
  expect(reports()).toEqual([]);
  service.hours(24);
  await service.cycle();
  await service.cycle();
  expect(reports()).toEqual(["report-2026-W01.md", "report-2026-W01.svg"]);
  expect([...files.texts.keys()].filter((name) => name.startsWith("lessons-"))).toHaveLength(4);
  expect((await service.get("/api/log?kind=report_written")).body.entries).toHaveLength(1);
});

test("two processes that report the same week tell of it once", async () => {
  const [first, second] = [filesInMemory(), filesInMemory()];
  const bothWrite = gate();
  let writing = 0;
  for (const files of [first, second]) {
    const { write } = files;
    files.write = async (name, text) => {
      if (name.startsWith("report-") && ++writing === 2) bothWrite.open();
      await bothWrite.opened;
      await write(name, text);
    };
  }
  const service = await pulse({ evolved: first });
  const other = await pulse({ store: service.deps.store, clock: service.deps.clock, evolved: second });
  await service.propose();
  service.hours(72);
  await Promise.all([service.cycle(), other.cycle()]);
  expect([...second.texts.keys()]).toContain("report-2026-W01.md");
  expect((await service.get("/api/log?kind=report_written")).body.entries).toHaveLength(1);
});

test("lessons tell verdicts and rollbacks by target", async () => {
  const files = filesInMemory();
  const service = await pulse({ evolved: files });
  await service.post("kpi", { csat: 4 });
  const applied = { kpi: "csat", expected_delta_k: 0.1 };
  await service.bring("applied", { ...applied, target: "ui.a" });
  const second = await service.bring("applied", { ...applied, target: "ui.b" });
  await service.post("kpi", { csat: 4.5 });
  service.deps.clock.advance(7 * DAY);
  await service.must("rollback", second);
  await pass(service.deps, 31 * DAY);
  await service.cycle();
  await service.post("/api/action/run-now", { action: "write_report" });
  expect(files.texts.get("lessons-E.md")).toContain("| `ui.a` | 1 | 0 | 0 | 0 | 0 |\n| `ui.b` | 1 | 0 | 0 | 0 | 0 |");
  expect(files.texts.get("lessons-M.md")).toContain("| rationale | 2 |");
  expect(files.texts.get("lessons-M.md")).toContain("of 8 things that should be on record of 2 changes");
});

test("what people wrote forms no markup and no line of its own in a retrospective", async () => {
  const files = filesInMemory();
  const service = await pulse({ evolved: files });
  const { change_id } = await service.propose({
    summary: "# <img src=x>",
    rationale: "one\n\n## Verdict: met\n- [x](javascript:y) | z",
    tenant_id: "`t`",
  });
  await service.post("deny", { change_id, approver: "a*n*a", note: "no\n<script>" });
  await service.cycle();
  const text = files.texts.get(`retrospective-${change_id}.md`)!;
  expect(text).not.toMatch(/(?<!\\)[<>]|(?<!\\)\[x\]/);
  expect(text.match(/^#.*$/gm)).toEqual([
    `# Retrospective of \`${change_id}\``,
    "## What happened",
    "## What came of it",
  ]);
  expect(text).toContain("decided by: “a\\*n\\*a”: “no \\<script\\>”");
});

test("what was said late stands in the retrospective, attributed, and is missing no more", async () => {
  const files = filesInMemory();
  const service = await pulse({ evolved: files });
  const { change_id } = await service.propose({ rationale: "" });
  await service.post("deny", { change_id, approver: "ana", note: "no" });
  await service.cycle();
  const name = `retrospective-${change_id}.md`;
  expect(files.texts.get(name)).toContain("Not on record: rationale.");
  await service.post("note", { change_id, actor: "bo", item: "rationale", note: "Support\n## asked" });
  await service.cycle();
  const text = files.texts.get(name)!;
  expect(text).toContain("Everything that should be on record is.");
  expect(text).toMatch(/^- rationale, said late by “bo” at 2026-.*: “Support \\#\\# asked”$/m);
});

test("what people wrote forms no markup and no line of its own in a week's report", async () => {
  const files = filesInMemory();
  const service = await pulse({ evolved: files });
  const lines = "one\n\n## Due within seven days\n- `x` of t1 lapses\n| L1 | 9 |";
  const { change_id } = await service.propose({
    summary: "x” (`chg_1`): applied <b> # Week",
    rationale: lines,
    tenant_id: "t1, “none” waits",
    proposer: "pat | dee*p*",
  });
  await service.post("approve", { change_id, approver: "ana “x”: approved", note: lines });
  await service.post("/api/action/run-now", { action: "write_report" });
  const report = files.texts.get("report-2026-W01.md")!;
  expect(report.match(/^# .*$/gm)).toEqual(["# Week 2026-W01 (2025-12-29 to 2026-01-04)"]);
  expect(report.match(/^## Due.*$/gm)).toHaveLength(1);
  expect(report).not.toMatch(/^\| L1 \| 9|lapses$/m);
  expect(report).toContain(
    "`ui.banner` of “t1, 'none' waits”, “x' (\\`chg\\_1\\`): applied \\<b\\> \\# Week” (`" +
      change_id +
      "`): proposed by",
  );
  expect(report).toContain("proposed by “pat \\| dee\\*p\\*” 2026-01-02 03:04");
});

test("the attempts told by target are those that R counts, whatever became of them", async () => {
  const files = filesInMemory();
  const service = await pulse({ evolved: files });
  const { host } = service;
  const drifted = await service.bring("applied", { target: "ui.a" });
  const both = await service.bring("applied", { target: "ui.b" });
  host.on("apply", fails("disk full"), 1);
  await service.act("apply", await service.bring("approved", { target: "ui.b" }));
  for (const id of [drifted, both]) host.host.delete(id);
  await service.cycle();
  await service.act("rollback", both);
  const rows = async () => {
    await service.post("/api/action/run-now", { action: "write_report" });
    const { n, failed, causes } = (await service.get("/api/state")).body.dimensions.R;
    const told = files.texts.get("lessons-R.md")!;
    expect(told).toContain(`of ${n} applies attempted`);
    const table = [...told.matchAll(/^\| `(.*)` \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$/gm)];
    const sums = [2, 3, 4, 5, 6].map((column) => table.reduce((sum, row) => sum + Number(row[column]), 0));
    expect(sums).toEqual([n, failed, causes.adapter_failure, causes.rolled_back, causes.drifted]);
    return table.map(([, ...row]) => row.join(" "));
  };
  expect(await rows()).toEqual(["ui.b 2 2 1 1 1", "ui.a 1 1 0 0 1"]);
  service.hours(31 * 24);
  expect(await rows()).toEqual([]);
});
