/** Tests certificates of changes approved by a mandate: both verifiers check its signatures, and notice any missing entry. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { verifyCertificate } from "../../../local/verify/certificate.ts";
import { rebuildCertificate } from "../../support/certificate_parts.ts";
import { readHead } from "../../../lib/audit/chain.ts";
import { openWithMandates, SIGNERS } from "../../support/mandates.ts";
import { rewindingStore } from "../../support/rewinding_store.ts";

type Report = Record<string, unknown> & {
  verdict: string;
  findings: { message: string }[];
  steps: Record<string, unknown>[];
};

let honest: string;
let pending: string;

const verifyInPython = (text: string): Report => {
  const folder = mkdtempSync(join(tmpdir(), "certificates-"));
  try {
    writeFileSync(join(folder, "certificate"), text);
    const { stdout } = spawnSync(
      "python3",
      ["docs/verify_audit.py", "certificate", join(folder, "certificate"), "--json"],
      {
        encoding: "utf8",
      },
    );
    return JSON.parse(stdout) as Report;
  } finally {
    rmSync(folder, { recursive: true });
  }
};
/** Returns the report of both verifiers, which must be equal. */
const verify = (text: string): Report => {
  const report = JSON.parse(JSON.stringify(verifyCertificate(Buffer.from(text), { acceptedManifests: [] }))) as Report;
  expect(verifyInPython(text)).toEqual(report);
  return report;
};
const findMessages = (text: string): string[] => verify(text).findings.map(({ message }) => message);
const eventOf = (proof: string): string => {
  const extra = /^extra (\S+)$/m.exec(proof)?.[1] ?? "";
  return (JSON.parse(Buffer.from(extra, "base64").toString()) as { event_type: string }).event_type;
};
/** Removes the proof of an event that has this index among the event's proofs. */
const withoutProof = (text: string, event: string, index: number): string => {
  let count = 0;
  return rebuildCertificate(text, (part, name) => {
    if (name !== "proof" || eventOf(part) !== event) return part;
    count++;
    return count === index + 1 ? null : part;
  });
};

beforeAll(async () => {
  const { activate, propose, apply, decideOn, api, send } = await openWithMandates(
    {},
    { "price.basic": 100, "price.pro": 100 },
  );
  const id = await activate();
  const first = (await propose()).body.change_id;
  await apply(first);
  // A rollback suspends the mandate, which two people resume below.
  await send("rollback", { change_id: first, actor: "ana" });
  await decideOn("mandate_narrow", id, "ana", { narrow: { max_per_day: 9 } });
  await decideOn("mandate_resume", id, "ana");
  await decideOn("mandate_resume", id, "bo");
  const { change_id } = (await propose({ target: "price.pro" })).body;
  pending = (await api.get(`changes/${change_id}/certificate`)).text;
  await apply(change_id);
  honest = (await api.get(`changes/${change_id}/certificate`)).text;
});

test("an unforged certificate names the people who signed the mandate", () => {
  for (const text of [honest, pending]) {
    const { verdict, findings, steps } = verify(text);
    expect([verdict, findings]).toEqual(["consistent", []]);
    const signed = steps.filter(({ event }) => event === "mandate_signed");
    expect(signed.map(({ name, key, status }) => [name, key !== null, status])).toEqual([
      ["ana", true, "draft"],
      ["bo", true, "active"],
    ]);
  }
});

test.each([
  ["mandate_signed", 0, "its mandate has 1 of 2 signatures"],
  ["mandate_narrowed", 0, "an entry of its mandate does not follow from the earlier entries"],
  ["mandate_suspended", 0, "an entry of its mandate does not follow from the earlier entries"],
  ["mandate_resumed", 0, "its mandate has 1 of 2 signatures"],
  ["mandate_resumed", 1, "its mandate was suspended, not active"],
])("a certificate without %s, index %i, is rejected by both verifiers", (event, index, why) => {
  expect(findMessages(withoutProof(honest, event, index))).toEqual([`it was approved by a mandate: ${why}`]);
});

test("a loss suspends mandates signed before it until they are resumed", async () => {
  const rewinding = rewindingStore();
  const { activate, propose, apply, decideOn, api, send, statement } = await openWithMandates({
    store: rewinding.store,
  });
  const id = await activate();
  const before = await rewinding.copy();
  await send("kpi", { csat: 4.2 });
  await rewinding.goBack(before);
  // A write finds out that the log went back, which freezes the service.
  await send("kpi", { csat: 4.2 });
  const { length, head } = (await readHead(api.deps.store))!;
  const loss = { note: "restored", length, head };
  const text = await statement("accept_loss", "ana", loss);
  const { at } = JSON.parse(text) as { at: string };
  await send("audit/accept-loss", { actor: "ana", ...loss, proof: SIGNERS["ana"]!.sign(text), at });
  expect((await propose()).body).toMatchObject({ status: "pending_consent" });
  await decideOn("mandate_resume", id, "ana");
  await decideOn("mandate_resume", id, "bo");
  const { change_id } = (await propose({ value: 103 })).body;
  await apply(change_id);
  const certificate = (await api.get(`changes/${change_id}/certificate`)).text;
  const { findings, remarks, steps } = verify(certificate);
  expect([findings, JSON.stringify(remarks)]).toEqual([[], expect.stringContaining("once it is resumed")]);
  expect(steps.map(({ event }) => event)).toContain("loss_accepted");
  expect(findMessages(withoutProof(certificate, "mandate_resumed", 1))).toEqual([
    "it was approved by a mandate: its mandate was suspended, not active",
  ]);
});

test("a certificate has also the entries of a mandate that its stored record omits", async () => {
  const { activate, propose, apply, decideOn, api } = await openWithMandates();
  const id = await activate();
  const { change_id } = (await propose()).body;
  await apply(change_id);
  await decideOn("mandate_narrow", id, "ana", { narrow: { max_per_day: 9 } });
  const { store } = api.deps;
  const record = (await store.get("mandates", id))!.value;
  for (const audit of [[], record.audit.slice(1)]) {
    await store.transact(async (tx) => void tx.put("mandates", id, { ...record, audit }));
    const { findings, steps } = verify((await api.get(`changes/${change_id}/certificate`)).text);
    // Two signatures, the proposal, its consent and the apply.
    expect([findings, steps.length]).toEqual([[], 5]);
  }
});

test("a certificate without its mandate is rejected, and one without its intent is consistent", () => {
  const none = rebuildCertificate(honest, (part, name) =>
    name === "proof" && eventOf(part).startsWith("mandate_") ? null : part,
  );
  expect(findMessages(none)).toEqual(["it was approved by a mandate: the entries of its mandate are not in this file"]);
  expect(verify(rebuildCertificate(honest, (part, name) => (name === "intent" ? null : part)))).toMatchObject({
    verdict: "consistent",
  });
});
