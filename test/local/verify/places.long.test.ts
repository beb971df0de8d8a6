/**
 * Both offline verifiers rebuild the signed statement of a consent, with the places of the change and the values that the
 * approver saw there.
 */
import { expect, test } from "vitest";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { systemClock } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import { routingAdapter } from "../../../lib/targets/routing.ts";
import { memoryTarget } from "../../support/memory_target.ts";
import { sshSigner } from "../../support/passkeys.ts";
import { service } from "../../support/service.ts";
import { person, proofFields, requestStatement } from "../../support/signed.ts";
import { pythonMissing, verify, verifyInPython } from "../../tamper/verifiers.ts";
import { rehashed, write } from "../../tamper/world.ts";

/** Returns the log of a change on a target system, to which Ana signed her consent. */
async function signedLog(): Promise<AuditEntry[]> {
  const signer = sshSigner();
  const adapter = targetAdapter(memoryTarget().system, { store: memoryStore(), clock: systemClock });
  const targets = routingAdapter([{ name: "flags", match: ["*"], adapter }]);
  const api = await service({ adapter: targets, intent: { principals: { ana: person(signer) } } });
  const { change_id } = await api.propose({ target: "flags/a", value: "1" });
  // The target has no value yet; for a value `seen` has its digest.
  const seen = JSON.stringify(["absent"]);
  const fields = { decision: "approve", approver: "ana", change_id, seen };
  const proof = proofFields(signer, await requestStatement(api, fields));
  const reply = await api.post("approve", { change_id, approver: "ana", seen, ...proof });
  expect(reply.status).toBe(200);
  return (await api.get("audit?limit=100")).body.entries;
}

/** Returns the log with another text in the detail of one event, and hashes that match it. */
function edited(entries: readonly AuditEntry[], type: string, [from, to]: [string, string]): AuditEntry[] {
  const index = entries.findIndex(({ event_type }) => event_type === type);
  const entry = entries[index]!;
  expect(entry.detail).toContain(from);
  const other = { ...entry, detail: entry.detail.replace(from, to) };
  return rehashed(entries.with(index, other), index);
}

const EDITS: Record<string, [event: string, [from: string, to: string]] | undefined> = {
  "no edit": undefined,
  "another place in the proposal": ["change_proposed", ['"system":"flags"', '"system":"other"']],
  "another digest in the consent": ["consent_decision", ['"seen":["absent"]', `"seen":["${"0".repeat(64)}"]`]],
  "no digest in the consent": ["consent_decision", ['"seen":["absent"],', ""]],
};

test.each(Object.entries(EDITS))("both verifiers have the right findings in a log with %s", async (_, edit) => {
  const entries = await signedLog();
  const log = write(edit ? edited(entries, ...edit) : entries);
  const rules = edit ? ["proof"] : [];
  const { findings } = await verify(log);
  expect(findings.map(({ rule }) => rule)).toEqual(rules);
  if (pythonMissing !== null) return;
  const [inPython] = verifyInPython([{ title: "", log: Buffer.from(log), evidence: [] }]);
  expect(inPython!.findings.map(({ rule }) => rule)).toEqual(rules);
});
