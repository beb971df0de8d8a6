import { expect, test } from "vitest";
import { DAY, pass } from "../../support/clock.ts";
import { gate } from "../../support/scripted_adapter.ts";
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

test("a week is reported once, by the first cycle after it", async () => {
  const files = filesInMemory();
  const service = await pulse({ evolved: files });
  // 2 January is in week 1; the week before it is reported at once.
  await service.cycle();
  const reports = () => [...files.texts.keys()].filter((name) => name.startsWith("report-"));
  expect(reports()).toEqual(["report-2025-W52.md"]);
  files.texts.clear();
  service.hours(48);
  await service.cycle();
  expect(reports()).toEqual([]);
  service.hours(24);
  await service.cycle();
  await service.cycle();
  expect(reports()).toEqual(["report-2026-W01.md"]);
  expect([...files.texts.keys()].filter((name) => name.startsWith("lessons-"))).toHaveLength(4);
  expect((await service.get("/api/log?kind=report_written")).body.entries).toHaveLength(2);
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
  await Promise.all([service.cycle(), other.cycle()]);
  expect([...second.texts.keys()]).toContain("report-2025-W52.md");
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
  await service.must("rollback", second);
  await pass(service.deps, 31 * DAY);
  await service.cycle();
  await service.post("/api/action/run-now", { action: "write_report" });
  expect(files.texts.get("lessons-E.md")).toContain("| `ui.a` | 1 | 0 | 0 | 0 |\n| `ui.b` | 1 | 0 | 0 | 0 |");
  expect(files.texts.get("lessons-R.md")).toContain("| `ui.a` | 1 | 0 |\n| `ui.b` | 1 | 1 |");
  expect(files.texts.get("lessons-M.md")).toContain("| rationale | 2 | 2 |");
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
