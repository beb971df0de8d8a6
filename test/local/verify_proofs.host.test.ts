/** Tests the verification of proofs in an export by both offline verifiers, which share no code with the service or each other. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { AuditEntry } from "../../lib/audit/entry.ts";
import { readPolicy } from "../../local/verify/policy.ts";
import { reportText } from "../../local/verify/report.ts";
import { type Report, verifyExport } from "../../local/verify/verify.ts";
import { PROPOSAL } from "../support/client.ts";
import { DAY } from "../support/clock.ts";
import { readHead } from "../../lib/audit/chain.ts";
import { core } from "../support/core.ts";
import { type Manifest, manifest } from "../support/intents.ts";
import { encodeSshSignature, passkey, sshSigner, decodeSshSignature } from "../support/passkeys.ts";
import { rewindingStore } from "../support/rewinding_store.ts";
import { postSignedAction, decide, type Signer, person, proofFields, requestStatement } from "../support/signed.ts";
import { pythonMissing, runPythonOften } from "../tamper/verifiers.ts";
import { rehashed, write } from "../tamper/world.ts";

vi.setConfig({ testTimeout: 120_000 });

const SIGNERS: Record<string, Signer> = {
  Ana: passkey("ES256"),
  bo: passkey("EdDSA"),
  cém: passkey("RS256"),
  dora: sshSigner(),
  eli: sshSigner("sk-ecdsa-sha2-nistp256@openssh.com"),
  fay: sshSigner("ssh-ed25519"),
  gus: sshSigner("ecdsa-sha2-nistp256"),
};
const PRINCIPALS = Object.fromEntries(Object.entries(SIGNERS).map(([name, signer]) => [name, person(signer)]));
const [PASSKEY_COUNT, SSH_COUNT] = [3, 4];

const folder = mkdtempSync(join(tmpdir(), "proofs-"));
afterAll(() => rmSync(folder, { recursive: true }));
const writeFile = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

/** A log in which each signer approves a change; `bo` also proposes and withdraws one, and `dora` denies one. */
let entries: AuditEntry[];
/** A second, short log with signed actions on the service and a review, since verifying a long log takes time. */
let actionEntries: AuditEntry[];
beforeAll(async () => {
  const break_glass = { approvers: ["gus"] };
  const policy = { required_approvers: { standard: 7 }, self_approval: true, break_glass };
  const intent = { principals: PRINCIPALS, policy };
  const api = await core({ intent });
  const { change_id } = await api.propose();
  for (const [approver, signer] of Object.entries(SIGNERS)) {
    const reply = await decide(api, signer, "approve", { change_id, approver, note: `"${approver}"\n🙂` });
    if (reply.status !== 200) throw new Error(reply.text);
  }
  const statement = await requestStatement(api, {
    decision: "propose",
    approver: "bo",
    proposal: JSON.stringify(PROPOSAL),
  });
  const drafted = await api.post("propose", { ...PROPOSAL, proposer: "bo", ...proofFields(SIGNERS["bo"]!, statement) });
  await decide(api, SIGNERS["bo"]!, "withdraw", { change_id: drafted.body.change_id, approver: "bo" });
  const denied = await api.propose();
  await decide(api, SIGNERS["dora"]!, "deny", { change_id: denied.change_id, approver: "dora" });
  entries = await api.audit();
  actionEntries = await createActionLog(intent);
  writeFile("policy.json", JSON.stringify(manifest(intent)));
  const swappedKeys = { ...PRINCIPALS, Ana: PRINCIPALS["bo"], bo: PRINCIPALS["Ana"] };
  writeFile("other.json", JSON.stringify({ principals: { ...swappedKeys, dora: person(sshSigner()) } }));
});

async function createActionLog(intent: Manifest): Promise<AuditEntry[]> {
  const { store, copy, goBack } = rewindingStore();
  const api = await core({ intent, store });
  await postSignedAction(api, SIGNERS["dora"]!, "freeze", { actor: "dora", note: "ω", until: "2030-01-01T00:00:00Z" });
  await postSignedAction(api, SIGNERS["bo"]!, "unfreeze", { actor: "bo" });
  api.deps.clock.shift(-DAY);
  expect(
    (await postSignedAction(api, SIGNERS["fay"]!, "accept_clock", { actor: "fay", note: "it ran ahead" })).status,
  ).toBe(200);
  const urgent = { change_id: (await api.propose()).change_id, approver: "gus", note: "now" };
  const emergencyStatement = await requestStatement(api, { decision: "approve_emergency", ...urgent });
  await api.post("approve", { ...urgent, emergency: true, ...proofFields(SIGNERS["gus"]!, emergencyStatement) });
  const review = { change_id: urgent.change_id, approver: "eli", verdict: "not_accepted", note: "why" };
  expect((await decide(api, SIGNERS["eli"]!, "review", review)).status).toBe(200);
  const denied = { change_id: (await api.propose()).change_id, approver: "bo" };
  await decide(api, SIGNERS["bo"]!, "deny", denied);
  const erased = await requestStatement(api, { decision: "erase", ...denied, note: "gone" });
  const erasure = { change_id: denied.change_id, actor: "bo", note: "gone", ...proofFields(SIGNERS["bo"]!, erased) };
  expect((await api.post("erase", erasure)).status).toBe(200);
  const before = await copy();
  await api.propose();
  await goBack(before);
  // A write finds out that the log went back.
  expect((await api.post("propose", PROPOSAL)).status).toBe(503);
  const { length, head } = (await readHead(store))!;
  const loss = { actor: "dora", note: "failover", length: String(length), head };
  expect((await postSignedAction(api, SIGNERS["dora"]!, "accept_loss", loss)).status).toBe(200);
  return api.audit();
}

/**
 * Verifies exports under each policy with both verifiers and expects the same findings, with the same messages unless
 * `compareMessages` is false: of two defects in one entry each verifier may report another.
 */
async function verifyInBoth(
  logs: readonly (readonly AuditEntry[])[],
  policies: readonly (string | undefined)[] = [undefined],
  compareMessages = true,
): Promise<Report[]> {
  const selectProofFindings = (findings: Report["findings"]) =>
    findings
      .filter(({ rule }) => rule === "proof")
      .map(({ message, ...where }) => (compareMessages ? { message, ...where } : where));
  const paths = logs.map((log, index) => writeFile(`${index}.jsonl`, write(log)));
  const runs = policies.flatMap((policy) =>
    paths.map((path) => ({ path, policy: policy === undefined ? undefined : join(folder, policy) })),
  );
  const reports = await Promise.all(
    runs.map(({ path, policy }) =>
      verifyExport(
        [readFileSync(path)],
        { states: [], findings: [], remarks: [] },
        { policy: policy ? readPolicy(policy) : undefined },
      ),
    ),
  );
  if (pythonMissing === null) {
    const calls = runs.map(({ path, policy }) => [path, ...(policy ? ["--policy", policy] : [])]);
    const pythonResults = runPythonOften([...calls.map((args) => [...args, "--json"]), calls[0]!]);
    for (const [index, report] of reports.entries()) {
      const inPython = JSON.parse(pythonResults[index]!.stdout);
      expect({
        ...inPython,
        findings: selectProofFindings(inPython.findings),
      }).toEqual({
        ...report,
        findings: selectProofFindings(report.findings),
      });
    }
    const lines = (text: string): string[] =>
      text.split("\n").filter((line) => /^signed|^decisions|: proof:/.test(line));
    expect(lines(pythonResults.at(-1)!.stdout)).toEqual(lines(reportText("", reports[0]!)));
  }
  return reports;
}

const CONSISTENT = { verdict: "consistent", findings: [] };

test("with an intent from outside as the policy every proof is verified", async () => {
  const [report, actionReport] = await verifyInBoth([entries, actionEntries], ["policy.json"]);
  expect([report, actionReport]).toMatchObject([CONSISTENT, CONSISTENT]);
  // Freeze, unfreeze, accepted clock, emergency consent, review, denial, erasure and accepted loss.
  expect(actionReport!.proofs).toEqual({ verified: 8, as_named: 0, not_checked: 0, unsigned: 0 });
  // One approval of each signer, bo's proposal and withdrawal, and dora's denial.
  expect(report!.proofs).toEqual({ verified: PASSKEY_COUNT + SSH_COUNT + 3, as_named: 0, not_checked: 0, unsigned: 0 });
  expect(reportText("x", report!)).toContain("valid signed decisions, with keys that the policy lists: 10");
});

test("without a policy SSH keys are taken from the log, and passkeys cannot be verified", async () => {
  const [report, actionReport] = await verifyInBoth([entries, actionEntries]);
  expect([report, actionReport]).toMatchObject([CONSISTENT, CONSISTENT]);
  // Three of the eight actions are signed with bo's passkey, the others with SSH keys.
  expect(actionReport!.proofs).toEqual({ verified: 0, as_named: 5, not_checked: 3, unsigned: 0 });
  // Dora denied with an SSH key; bo proposed and withdrew with a passkey.
  expect(report!.proofs).toEqual({ verified: 0, as_named: SSH_COUNT + 1, not_checked: PASSKEY_COUNT + 2, unsigned: 0 });
  expect(reportText("x", report!)).toContain("with keys that only the log lists: 5");
});

test("with other keys in the policy each decision not signed by them is reported", async () => {
  const [report] = await verifyInBoth([entries], ["other.json"]);
  const messages = report!.findings.map(({ message }) => message);
  // One decision of Ana, three of bo and two of dora.
  expect(messages).toHaveLength(6);
  expect(messages[0]).toBe("its proof was made by no key that the policy lists for Ana");
});

/** Returns a log with one entry's detail edited, and all later entries hashed again. */
function editEntry(index: number, edit: (detail: Record<string, unknown>) => object, log = entries): AuditEntry[] {
  const entry = { ...log[index]!, detail: JSON.stringify(edit(JSON.parse(log[index]!.detail))) };
  return rehashed(log.with(index, entry), index);
}

const listSigned = (log = entries): number[] =>
  log.flatMap(({ detail }, index) => (JSON.parse(detail).proof === undefined ? [] : [index]));

test("a rewritten log that differs from the signed statements is bad, with or without policy", async () => {
  const signedConsents = listSigned().filter((index) => JSON.parse(entries[index]!.detail).decision === "approved");
  const log = entries;
  const logs = signedConsents.flatMap((index) =>
    ["note", "approver", "digest", "manifest_hash", "decision", "statement"].map((field) =>
      editEntry(
        index,
        (detail) => ({ ...detail, [field]: field === "decision" ? "denied" : `${detail[field]}x` }),
        log,
      ),
    ),
  );
  const withOtherProof = signedConsents.map((index) =>
    editEntry(index, (detail) => ({ ...detail, ...proofOf(listSigned().at(-1)!) }), log),
  );
  for (const { findings, verdict } of await verifyInBoth([...logs, ...withOtherProof], ["policy.json", undefined])) {
    expect(verdict).toBe("bad");
    expect(findings).toMatchObject([{ rule: "proof" }]);
  }
});

test("a rewritten verdict, until, actor, note or accepted end does not match its signature", async () => {
  const signedActions = listSigned(actionEntries).filter(
    (index) => actionEntries[index]!.event_type !== "consent_decision",
  );
  const logs = ["verdict", "until", "actor", "note", "length", "head"].flatMap((field) => {
    const rewritten = signedActions
      .filter((index) => JSON.parse(actionEntries[index]!.detail)[field])
      // The signer of a review is its `approver`.
      .filter((index) => field !== "actor" || actionEntries[index]!.event_type !== "emergency_reviewed")
      .map((index) => editEntry(index, (detail) => ({ ...detail, [field]: `${detail[field]}x` }), actionEntries));
    expect(rewritten.length, field).toBeGreaterThan(0);
    return rewritten;
  });
  for (const { findings } of await verifyInBoth(logs, ["policy.json"]))
    expect(findings).toMatchObject([{ rule: "proof" }]);
});

test("an unsigned decision is a finding if the log has the person's keys; else it is counted", async () => {
  const unsigned = (log: AuditEntry[]) => (index: number) =>
    editEntry(index, ({ proof: _proof, statement: _statement, key: _key, ...detail }) => detail, log);
  const denied = listSigned().filter((index) => JSON.parse(entries[index]!.detail).decision === "denied");
  const logs = [...denied.map(unsigned(entries)), ...listSigned(actionEntries).map(unsigned(actionEntries))];
  // One denial, and the eight actions of the second log.
  expect(logs).toHaveLength(9);
  for (const { findings } of await verifyInBoth(logs, ["policy.json", undefined]))
    expect(findings).toMatchObject([{ rule: "proof", message: expect.stringContaining("has no signature") }]);
  const withoutProofs = actionEntries.map((entry) => ({
    ...entry,
    detail:
      entry.event_type === "intent_in_force" ? "{}" : JSON.stringify({ ...JSON.parse(entry.detail), proof: undefined }),
  }));
  const [report] = await verifyInBoth([rehashed(withoutProofs, 0)], ["policy.json"]);
  expect(report).toMatchObject({ findings: [], proofs: { verified: 0, unsigned: 8 } });
  expect(reportText("x", report!)).toContain(`by names whose keys the policy lists: 8`);
});

const proofOf = (index: number): object => {
  const { statement, proof, key } = JSON.parse(entries[index]!.detail);
  return { statement, proof, key };
};

test("an emergency consent rewritten to a denial does not match its signature", async () => {
  const urgent = listSigned(actionEntries).find((index) => JSON.parse(actionEntries[index]!.detail).emergency)!;
  const log = editEntry(urgent, (detail) => ({ ...detail, decision: "denied" }), actionEntries);
  for (const { findings } of await verifyInBoth([log], ["policy.json", undefined]))
    expect(findings).toMatchObject([{ rule: "proof" }]);
});

test("a flipped bit of a proof is bad", async () => {
  const logs = listSigned().flatMap((index) => {
    const { proof } = JSON.parse(entries[index]!.detail);
    const log = entries;
    const fields = Object.keys(proof).filter((field) => !["type", "credential_id"].includes(field));
    return fields.flatMap((field) => {
      const isArmour = proof.type === "ssh";
      const bytes = isArmour ? decodeSshSignature(proof[field]) : Buffer.from(proof[field], "base64url");
      // Four bits at places that differ from entry to entry.
      const bits = Array.from({ length: 4 }, (_, n) => (n * 7919 + index * 31 + 5) % (bytes.length * 8));
      return bits.map((bit) => {
        const flipped = Buffer.from(bytes);
        flipped[bit >> 3]! ^= 1 << (bit & 7);
        const text = isArmour ? encodeSshSignature(flipped) : flipped.toString("base64url");
        return editEntry(index, (detail) => ({ ...detail, proof: { ...proof, [field]: text } }), log);
      });
    });
  });
  for (const { findings } of await verifyInBoth(logs, ["policy.json"], false))
    expect(findings).toMatchObject([{ rule: "proof" }]);
});

test("an invalid policy is an error", async () => {
  const nothing = writeFile("nothing.json", "[]");
  expect(() => readPolicy(nothing)).toThrow("is not JSON with the principals of an intent");
  if (pythonMissing === null)
    expect(runPythonOften([[writeFile("a.jsonl", write(entries)), "--policy", nothing]])[0]).toMatchObject({
      status: 3,
    });
});

test("signed applies, rollbacks and feeds are verified, and rewritten ones are reported", async () => {
  const policy = { signed_only: true, permissions: { apply: ["bo"], rollback: ["eli"], feed_kpis: ["Ana"] } };
  const api = await core({ intent: { principals: PRINCIPALS, policy } });
  const signAction = async (name: string, decision: string, fields: Record<string, string>) =>
    proofFields(SIGNERS[name]!, await requestStatement(api, { decision, approver: name, ...fields }));
  const { change_id } = await api.propose();
  await decide(api, SIGNERS["dora"]!, "approve", { change_id, approver: "dora" });
  const drift = { change_id, note: "set by hand", over_drift: "true" };
  const kpis = { csat: "1.5e-7", incident_rate: "-0.5", nrr_quarterly: "1e21" };
  const posts: [string, Record<string, string>][] = [
    ["apply", { change_id, actor: "bo", ...(await signAction("bo", "apply", { change_id })) }],
    ["rollback", { ...drift, actor: "eli", ...(await signAction("eli", "rollback", drift)) }],
    ["kpi", { ...kpis, actor: "Ana", ...(await signAction("Ana", "feed_kpis", { kpis: JSON.stringify(kpis) })) }],
  ];
  for (const [path, fields] of posts) {
    const reply = await api.post(path, fields);
    expect(reply.status, reply.text).toBe(200);
  }
  const log: AuditEntry[] = await api.audit();
  const [report, withoutPolicy] = await verifyInBoth([log], ["policy.json", undefined]);
  expect([report!.proofs, withoutPolicy!.proofs]).toEqual([
    { verified: 4, as_named: 0, not_checked: 0, unsigned: 0 },
    { verified: 0, as_named: 2, not_checked: 2, unsigned: 0 },
  ]);
  const findEntry = (type: string): number => log.findIndex(({ event_type }) => event_type === type);
  const rewritten = [
    editEntry(findEntry("change_applied"), (detail) => ({ ...detail, actor: "fay" }), log),
    editEntry(findEntry("change_rolled_back"), ({ over_drift: _, ...detail }) => detail, log),
    editEntry(findEntry("change_rolled_back"), (detail) => ({ ...detail, note: "other" }), log),
    editEntry(
      findEntry("kpi_refreshed"),
      (detail) => ({ ...detail, values: { ...(detail["values"] as object), csat: 2 } }),
      log,
    ),
    editEntry(findEntry("kpi_refreshed"), (detail) => ({ ...detail, values: "none" }), log),
  ];
  for (const { findings } of await verifyInBoth(rewritten, ["policy.json"]))
    expect(findings).toMatchObject([{ rule: "proof" }]);
});
