/** Both offline verifiers report an accepted loss, and explain a receipt of an entry that was lost. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readHead } from "../../lib/audit/chain.ts";
import { reportLoss } from "../../lib/audit/report_loss.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { reportText } from "../../local/verify/report.ts";
import { service } from "../support/service.ts";
import { rewindingStore } from "../support/rewinding_store.ts";
import { summarizeReport, pythonMissing, runPython, verify, verifyInPython } from "../tamper/verifiers.ts";

const folder = mkdtempSync(join(tmpdir(), "countersign-losses-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a receipt of a lost entry is explained by the loss that a person accepted", async () => {
  const { store, copy, goBack } = rewindingStore();
  const api = await service({ store });
  await api.propose();
  const before = await copy();
  await api.propose();
  const lostEntry = (await api.propose()).audit_entry;
  await goBack(before);
  // A write finds out that the log went back.
  await api.post("propose", { tenant_id: "t1", kind: "config", target: "a", summary: "b" });
  const { length, head } = (await readHead(store))!;
  const accepted = await api.post("audit/accept-loss", {
    actor: "ops",
    note: "failover",
    length: String(length),
    head,
  });
  expect(accepted.status).toBe(200);
  await api.propose();
  const log = Buffer.from((await api.get("audit?format=jsonl")).text);

  const lossReport = await verify(log);
  expect(lossReport).toMatchObject({
    verdict: "consistent",
    losses: [{ actor: "ops", known: lostEntry.id, continues: length }],
  });
  expect(reportText("audit.jsonl", lossReport)).toContain(
    `ops accepted that entries after ${length} up to ${lostEntry.id} are lost`,
  );

  const receipts = [
    { length: lostEntry.id, head: lostEntry.current_hash, description: `the receipt of entry ${lostEntry.id}` },
  ];
  const report = await verify(log, receipts);
  expect(report).toMatchObject({ verdict: "bad", findings_total: 1 });
  expect(report.findings[0]!.message).toContain(
    `ops accepted that entries after ${length} up to ${lostEntry.id} are lost`,
  );
  if (pythonMissing !== null) return;
  const [pythonSummary] = verifyInPython([{ title: "loss", log, evidence: receipts }]);
  expect(pythonSummary).toEqual(summarizeReport(report));
  const path = join(folder, "audit.jsonl");
  writeFileSync(path, log);
  const expected = ["--expected-length", String(lostEntry.id), "--expected-head", lostEntry.current_hash];
  const { stdout } = runPython([path, ...expected]);
  expect(stdout).toContain(report.findings[0]!.message);
});

test("a loss of uncounted entries explains a receipt of any later entry, in both verifiers", async () => {
  const lost = { reason: "state.json.journal.jsonl is missing", left: { audit: 1000 } };
  const faults = () => ({ writes: null, damaged: [], lost, compaction: null, free_bytes: null });
  const api = await service({ store: { ...memoryStore(), faults } });
  await api.propose();
  await reportLoss(api.deps, undefined);
  const { length, head } = (await readHead(api.deps.store))!;
  const accepted = await api.post("audit/accept-loss", { actor: "ops", note: "x", length: String(length), head });
  expect(accepted.status).toBe(200);
  const log = Buffer.from((await api.get("audit?format=jsonl")).text);
  const receipts = [{ length: length + 500, head: "a".repeat(64), description: "the receipt of a lost entry" }];
  const report = await verify(log, receipts);
  expect(report.losses).toMatchObject([{ known: null, continues: length }]);
  const message = `ops accepted that entries after ${length}, an unknown number, are lost`;
  expect(report.findings.map((finding) => finding.message).join()).toContain(message);
  if (pythonMissing !== null) return;
  expect(verifyInPython([{ title: "loss", log, evidence: receipts }])[0]).toEqual(summarizeReport(report));
});
