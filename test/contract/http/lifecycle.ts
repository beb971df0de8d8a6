/** One change from its proposal to its rollback, with its evidence: a short test for every host. */
import { expect, test } from "vitest";
import { type Action, events, FOLLOWUP, type Reply } from "../../support/client.ts";
import { chainFault } from "../../support/independent_chain.ts";
import type { Open } from "../http_contract.ts";

const STEPS: [action: Action, to: string][] = [
  ["approve", "approved"],
  ["apply", "applied"],
  ["rollback", "rolled_back"],
];

export function lifecycleRules(open: Open): void {
  test("each step of a change from proposal to rollback has its entry in one chain", async () => {
    const api = await open();
    const proposed = await api.post("propose-crm-followup", FOLLOWUP);
    expect([proposed.status, proposed.body.status]).toEqual([201, "pending_consent"]);
    const { change_id } = proposed.body;
    const receipts: Reply["body"][] = [proposed.body.audit_entry];
    for (const [action, to] of STEPS) {
      const { status, body } = await api.act(action, change_id);
      expect([status, body.status]).toEqual([200, to]);
      receipts.push(body.audit_entry);
    }
    const entries = await api.audit();
    const [inForce, ...steps] = entries;
    expect(inForce.event_type).toBe("intent_in_force");
    expect(steps).toEqual(receipts);
    expect(chainFault(entries)).toBeNull();
    expect(events(steps)).toEqual(["change_proposed", "consent_decision", "change_applied", "change_rolled_back"]);
    expect((await api.change(change_id)).audit_entries).toEqual(receipts);
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, length: entries.length });
    const exported = await api.get("audit?format=jsonl");
    expect(
      exported.text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(entries);
  });

  test("a step that is not allowed is rejected and writes nothing", async () => {
    const api = await open();
    const change_id = await api.bring("denied");
    const before = [await api.change(change_id), await api.audit()];
    expect(await api.act("apply", change_id)).toMatchObject({
      status: 400,
      body: { code: "illegal_transition", change_id, current_status: "denied", allowed: [] },
    });
    expect([await api.change(change_id), await api.audit()]).toEqual(before);
  });

  test("a pack is available as a file and a page, and the log as a table", async () => {
    const api = await open();
    const { change_id } = await api.propose();
    const answers = [];
    // The requests are sequential, since a service streams the complete log to one caller at a time.
    for (const path of [`pack?change_id=${change_id}`, `pack?change_id=${change_id}&format=html`, "audit?format=csv"]) {
      const { status, headers, text } = await api.get(path);
      expect(text, path).toContain(change_id);
      answers.push([status, headers.get("content-type")]);
    }
    expect(answers).toEqual([
      [200, "application/x-tar"],
      [200, "text/html; charset=utf-8"],
      [200, "text/csv; charset=utf-8"],
    ]);
  });
}
