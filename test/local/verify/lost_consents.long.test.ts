/**
 * Tests certificates of changes that were approved before an accepted loss of the log's end. The loss is in a certificate unless
 * the change was applied before; consents from before the loss do not count after it.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readHead } from "../../../lib/audit/chain.ts";
import { type CertificateReport, verifyCertificate } from "../../../local/verify/certificate.ts";
import { certificateText } from "../../../local/verify/certificate_text.ts";
import { rebuildCertificate } from "../../support/certificate_parts.ts";
import { rewindingStore } from "../../support/rewinding_store.ts";
import { service, type TestService } from "../../support/service.ts";
import { pythonMissing, runPythonOften } from "../../tamper/verifiers.ts";

const INTENT = { policy: { required_approvers: { standard: 2 }, approvers: ["ana", "bo", "cy"] } };

const folder = mkdtempSync(join(tmpdir(), "lost-consents-"));
afterAll(() => rmSync(folder, { recursive: true }));

let api: TestService;
/** Certificates of three changes: approved again and applied; applied before the loss; and not approved again. */
let again: string;
let before: string;
let waiting: string;
/** Id of the entry that accepts the loss. */
let loss: number;

const certificate = async (id: string): Promise<string> => (await api.get(`changes/${id}/certificate`)).text;

async function consent(change_id: string, ...approvers: string[]): Promise<void> {
  for (const approver of approvers)
    expect(await api.post("approve", { change_id, approver })).toMatchObject({ status: 200 });
}

beforeAll(async () => {
  const rewinding = rewindingStore();
  api = await service({ store: rewinding.store, intent: INTENT });
  const [first, second, third] = [
    (await api.propose()).change_id,
    (await api.propose({ target: "ui.menu" })).change_id,
    (await api.propose({ target: "ui.other" })).change_id,
  ];
  for (const id of [first, second, third]) await consent(id, "ana", "bo");
  await api.must("apply", second);
  const copy = await rewinding.copy();
  await api.propose({ target: "ui.lost" });
  await rewinding.goBack(copy);
  // A write finds out that the log went back, which freezes the service.
  await api.post("propose", { tenant_id: "t1", kind: "config", target: "ui.late", summary: "Late" });
  const { length, head } = (await readHead(rewinding.store))!;
  const accepted = await api.post("audit/accept-loss", { actor: "bo", note: "failover", length, head });
  expect(accepted.status, accepted.text).toBe(200);
  loss = accepted.body.audit_entry.id;
  await api.post("unfreeze", { actor: "bo" });
  await consent(first, "ana", "cy");
  await api.must("apply", first);
  [again, before, waiting] = [await certificate(first), await certificate(second), await certificate(third)];
});

/** Returns the report of both verifiers on a certificate, which must be equal. */
function verify(text: string): CertificateReport {
  const path = join(folder, "change.certificate");
  writeFileSync(path, text);
  const report = verifyCertificate(Buffer.from(text), { acceptedManifests: [] });
  if (pythonMissing !== null) return report;
  const [asJson, asText] = runPythonOften([
    ["certificate", path, "--json"],
    ["certificate", path],
  ]);
  expect(JSON.parse(asJson!.stdout), asJson!.stderr).toEqual(report);
  expect(asText!.stdout).toBe(`${certificateText(path, report)}\n`);
  return report;
}

/** Parses the entry in a proof part, which has it in base64 after `extra`. */
const entryIn = (part: string): { id: number; event_type: string } =>
  JSON.parse(Buffer.from(/\nextra (.*)\n/.exec(part)![1]!, "base64").toString());
/** Returns the certificate without the entries for which `isRemoved` returns true. */
const withoutEntries = (text: string, isRemoved: (entry: { id: number; event_type: string }) => boolean): string =>
  rebuildCertificate(text, (part, name) => (name === "proof" && isRemoved(entryIn(part)) ? null : part));

test("new consents after an accepted loss count, and the loss is reported", () => {
  const report = verify(again);
  expect(report).toMatchObject({ verdict: "consistent", findings: [] });
  expect(report.steps.map(({ event, name, status }) => [event, name, status])).toEqual([
    ["change_proposed", null, "pending_consent"],
    ["consent_decision", "ana", "pending_consent"],
    ["consent_decision", "bo", "approved"],
    ["loss_accepted", "bo", "approved"],
    ["consent_decision", "ana", "approved"],
    ["consent_decision", "cy", "approved"],
    ["change_applied", null, "applied"],
  ]);
  expect(report.remarks).toContainEqual(
    expect.stringMatching(
      `^entry ${loss}, .*: bo accepted that entries .* are lost; .*; consents before this loss do not count after it$`,
    ),
  );
  expect(certificateText("c", report)).toContain(
    `: loss of the log's end accepted by "bo" (authenticated by: claimed, note "failover")`,
  );
});

test("an apply on consents from before an accepted loss is rejected", () => {
  const forged = withoutEntries(again, ({ id, event_type }) => id > loss && event_type === "consent_decision");
  expect(verify(forged)).toMatchObject({
    verdict: "bad",
    findings: [{ rule: "quorum", message: "it was applied with 0 of 2 consents" }],
  });
});

test("one consent after an accepted loss and one before do not make two", () => {
  let isFirst = true;
  const forged = withoutEntries(again, ({ id, event_type }) => {
    if (id < loss || event_type !== "consent_decision" || !isFirst) return false;
    isFirst = false;
    return true;
  });
  expect(verify(forged).findings).toMatchObject([{ rule: "quorum", message: "it was applied with 1 of 2 consents" }]);
});

test("a certificate whose accepted loss is listed twice or was edited is rejected", () => {
  const isLoss = (part: string, name: string) => name === "proof" && entryIn(part).event_type === "loss_accepted";
  const twice = rebuildCertificate(again, (part, name) => (isLoss(part, name) ? [part, part] : part));
  expect(verify(twice).findings).toMatchObject([{ entry: loss, rule: "id" }]);
  const edited = rebuildCertificate(again, (part, name) =>
    isLoss(part, name)
      ? part.replace(/(?<=\nextra ).*/, (extra) => {
          const entry = Buffer.from(extra, "base64").toString();
          // The note of the loss, in the same length.
          return Buffer.from(entry.replace("failover", "failovas")).toString("base64");
        })
      : part,
  );
  expect(verify(edited).verdict).toBe("bad");
});

test("the certificate of a change that was applied before the loss does not have the loss", () => {
  const report = verify(before);
  expect(report).toMatchObject({ verdict: "consistent", findings: [] });
  expect(report.steps.map(({ event }) => event)).not.toContain("loss_accepted");
});

test("the certificate of an approved change has all losses up to now", () => {
  const report = verify(waiting);
  expect(report).toMatchObject({ verdict: "consistent", findings: [] });
  expect(report.steps.at(-1)).toMatchObject({ entry: loss, event: "loss_accepted", status: "approved" });
});
