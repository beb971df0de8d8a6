/** Verifies exports and certificates with a late note in both verifiers. */
import { expect, test } from "vitest";
import { verifyCertificate } from "../../local/verify/certificate.ts";
import { service } from "../support/service.ts";
import { summarizeReport, pythonMissing, verify, verifyInPython } from "../tamper/verifiers.ts";

test(`late notes verify, and an edit is found (${pythonMissing ?? "Python too"})`, async () => {
  const api = await service();
  // A late note is allowed only for a text that the change lacks; `bring` approves without a note.
  const change_id = await api.bring("applied", { rationale: "" });
  for (const item of ["rationale", "note"])
    expect((await api.post("note", { change_id, actor: "bo", item, note: "said afterwards" })).status).toBe(200);
  await api.must("rollback", change_id);
  const log = Buffer.from((await api.get("audit?format=jsonl")).text);
  const report = summarizeReport(await verify(log));
  expect(report).toMatchObject({ verdict: "consistent", total: 0 });
  const forged = Buffer.from(log.toString().replace("said afterwards", "said beforehand"));
  const forgedReport = summarizeReport(await verify(forged));
  expect(forgedReport.verdict).toBe("bad");
  if (pythonMissing === null)
    expect(verifyInPython([log, forged].map((bytes) => ({ title: "notes", log: bytes, evidence: [] })))).toEqual([
      report,
      forgedReport,
    ]);
  // A certificate has no late notes, since they decide nothing.
  const { text } = await api.get(`changes/${change_id}/certificate`);
  expect(text).not.toContain("said afterwards");
  expect(verifyCertificate(Buffer.from(text), { acceptedManifests: [] })).toMatchObject({
    verdict: "consistent",
    findings: [],
  });
});
