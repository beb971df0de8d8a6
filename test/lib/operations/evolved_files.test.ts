/** Files that cycles write: retrospectives of changes and weekly reports. The clock starts on 2 January 2026. */
import { expect, test } from "vitest";
import { makeBarrier } from "../../support/scripted_adapter.ts";
import { filesInMemory, openOperations } from "./operations_service.ts";

test("a retrospective that could not be written is written once by a later cycle", async () => {
  const files = filesInMemory();
  let isFull = true;
  const written: string[] = [];
  const evolved = {
    ...files,
    write: async (name: string, text: string) => {
      if (isFull) throw new Error("disk full");
      written.push(name);
      await files.write(name, text);
    },
  };
  const service = await openOperations({ evolved });
  const id = await service.bring("denied");
  expect((await service.cycle()).failed_steps).toEqual(["files"]);
  isFull = false;
  await service.cycle();
  await service.cycle();
  expect(written.filter((name) => name === `retrospective-${id}.md`)).toHaveLength(1);
});

test("due retrospectives are dropped, not queued, if there is no folder for files", async () => {
  const service = await openOperations();
  await service.bring("rolled_back");
  expect((await service.cycle()).files_written).toBe(0);
  const later = await openOperations({
    store: service.deps.store,
    clock: service.deps.clock,
    evolved: filesInMemory(),
  });
  const laterId = await later.bring("denied", { target: "ui.colour" });
  await later.cycle();
  const names = [...(later.deps.evolved as ReturnType<typeof filesInMemory>).texts.keys()];
  expect(names.filter((name) => name.startsWith("retrospective-"))).toEqual([`retrospective-${laterId}.md`]);
});

test("a week is reported once, by the first cycle after it; weeks before the log are not", async () => {
  const files = filesInMemory();
  const service = await openOperations({ evolved: files });
  const reports = () => [...files.texts.keys()].filter((name) => name.startsWith("report-"));
  await service.cycle();
  // 2 January is in week 1, which ends with 4 January.
  await service.propose();
  await service.cycle();
  expect(reports()).toEqual([]);
  service.passHours(48);
  await service.cycle();
  expect(reports()).toEqual([]);
  service.passHours(24);
  await service.cycle();
  await service.cycle();
  expect(reports()).toEqual(["report-2026-W01.md"]);
  expect((await service.get("/api/log?kind=report_written")).body.entries).toHaveLength(1);
});

test("two processes that report the same week record it once", async () => {
  const [first, second] = [filesInMemory(), filesInMemory()];
  const bothWrite = makeBarrier();
  let writing = 0;
  for (const files of [first, second]) {
    const { write } = files;
    files.write = async (name, text) => {
      if (name.startsWith("report-") && ++writing === 2) bothWrite.open();
      await bothWrite.opened;
      await write(name, text);
    };
  }
  const service = await openOperations({ evolved: first });
  const other = await openOperations({ store: service.deps.store, clock: service.deps.clock, evolved: second });
  await service.propose();
  service.passHours(72);
  await Promise.all([service.cycle(), other.cycle()]);
  expect([...second.texts.keys()]).toContain("report-2026-W01.md");
  expect((await service.get("/api/log?kind=report_written")).body.entries).toHaveLength(1);
});

test("texts by people form no markup and no new line in a retrospective", async () => {
  const files = filesInMemory();
  const service = await openOperations({ evolved: files });
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

test("a late note is in the retrospective with its author, and no longer listed as missing", async () => {
  const files = filesInMemory();
  const service = await openOperations({ evolved: files });
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

test("texts by people form no markup and no new line in a weekly report", async () => {
  const files = filesInMemory();
  const service = await openOperations({ evolved: files });
  const lines = "one\n\n## Due within seven days\n- `x` of t1 lapses\n| L1 | 9 |";
  // A closing quotation mark in a text becomes an apostrophe, so that it does not end the quotation.
  const { change_id } = await service.propose({
    summary: "x” (`chg_1`): applied <b> # Week",
    rationale: lines,
    tenant_id: "t1, “none” waits",
    proposer: "pat | dee*p*",
  });
  await service.post("approve", { change_id, approver: "ana “x”: approved", note: lines });
  await service.post("/api/action/run-now", { action: "write_report" });
  const report = files.texts.get("report-2026-W01.md")!;
  expect(report.match(/^# .*$/gm)).toEqual(["# Week 2026-W01 (2025-12-29 to 2026-01-04, UTC)"]);
  expect(report.match(/^## Due.*$/gm)).toHaveLength(1);
  expect(report).not.toMatch(/^\| L1 \| 9|lapses$/m);
  expect(report).toContain(
    "- [“x' (\\`chg\\_1\\`): applied \\<b\\> \\# Week”](#/changes/" + change_id + ") waits to be applied\n",
  );
  const denied = await service.propose({ tenant_id: "a*n*a [x](y)", target: "ui.other" });
  await service.post("deny", { change_id: denied.change_id, approver: "bo <b>", note: lines });
  await service.post("/api/action/run-now", { action: "write_report" });
  expect(files.texts.get("report-2026-W01.md")).toContain(
    ": denied by “bo \\<b\\>”: “one \\#\\# Due within seven days - \\`x\\` of t1 lapses \\| L1 \\| 9 \\|”\n",
  );
});

test("a retrospective contains how and why a change ended", async () => {
  const files = filesInMemory();
  const service = await openOperations({ evolved: files });
  const rolledBack = await service.bring("applied", { target: "ui.a" });
  await service.post("rollback", { change_id: rolledBack, actor: "bo", note: "80 calls" });
  const { change_id: withdrawn } = await service.propose({ target: "ui.b", proposer: "pat" });
  await service.post("withdraw", { change_id: withdrawn, proposer: "pat", note: "Not needed" });
  await service.cycle();
  const statusOf = (id: string) => /^- status: .*$/m.exec(files.texts.get(`retrospective-${id}.md`)!)![0];
  expect(statusOf(rolledBack)).toBe("- status: rolled back by bo: “80 calls”");
  expect(statusOf(withdrawn)).toBe("- status: withdrawn by pat: “Not needed”");
});

test("an erasure removes the summary from reports, and does not affect other changes", async () => {
  const files = filesInMemory();
  const service = await openOperations({ evolved: files });
  const keptId = await service.bring("applied", { target: "ui.kept", summary: "Keep [this] (one)" });
  const erasedId = await service.bring("rolled_back", { target: "ui.gone", summary: "Forget [that] \\] one" });
  await service.post("/api/action/run-now", { action: "write_report" });
  const before = files.texts.get("report-2026-W01.md")!;
  expect(before.match(/Forget/g)).toHaveLength(2);
  expect((await service.post("erase", { change_id: erasedId, actor: "dpo" })).status).toBe(200);
  await service.cycle();
  const after = files.texts.get("report-2026-W01.md")!;
  expect(after).not.toContain("Forget");
  expect(after.match(new RegExp(`\\[“erased”\\]\\(#/changes/${erasedId}\\)`, "g"))).toHaveLength(2);
  expect(after).toContain(`[“Keep \\[this\\] (one)”](#/changes/${keptId})`);
  await service.post("/api/action/run-now", { action: "write_report" });
  expect(files.texts.get("report-2026-W01.md"), "as a new report would be").toBe(after);
});
