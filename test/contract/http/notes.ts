/** Late notes: information that is added to a decided change afterwards. */
import { expect, test } from "vitest";
import type { Client } from "../../support/client.ts";
import type { Fields } from "../../support/requests.ts";
import type { Open } from "../http_contract.ts";

const NOTE = "Support raised it by hand every week.";

export function noteRules(open: Open): void {
  const addNote = (api: Client, change_id: string, fields: Fields = {}) =>
    api.post("note", { change_id, actor: "bo", item: "rationale", note: NOTE, ...fields });
  /** Returns the dimension M: the required and the recorded items of closed changes. */
  const readM = async (api: Client) => (await api.get("/api/state")).body.dimensions.M;

  test("a late note fills a gap: M counts the item as present and as late", async () => {
    const api = await open();
    const change_id = await api.bring("denied");
    const before = await readM(api);
    expect(before).toMatchObject({ closed: 1, present: 1, late: 0, missing: { rationale: 1, note: 1 } });
    const { digest, revision, approval_note, rationale } = await api.change(change_id);
    const { status, body, headers } = await addNote(api, change_id);
    expect([status, body.change.status, headers.get("etag")]).toEqual([200, "denied", `"${revision + 1}"`]);
    const { event_type, detail } = body.audit_entry;
    expect(event_type).toBe("note_added");
    expect(JSON.parse(detail)).toMatchObject({ item: "rationale", note: NOTE, late: true, actor: "bo", digest });
    const late_notes = [{ item: "rationale", note: NOTE, actor: "bo", at: body.audit_entry.timestamp }];
    expect(await api.change(change_id)).toMatchObject({ late_notes, digest, approval_note, rationale });
    expect(await readM(api)).toMatchObject({
      closed: 1,
      expected: before.expected,
      present: 2,
      late: 1,
      missing: { rationale: 0, note: 1 },
      gaps: [{ change_id, missing: ["note"] }],
    });
    expect((await addNote(api, change_id, { item: "note" })).status).toBe(200);
    expect(await readM(api)).toMatchObject({ value: 1, present: 3, late: 2, gaps: [] });
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
    expect((await api.get("/api/log?kind=late_note")).body.entries).toHaveLength(2);
  });

  test("a note is accepted once, for a missing item of a decided change only", async () => {
    const api = await open();
    const { change_id } = await api.propose();
    const readError = async (fields: Fields = {}) => (await addNote(api, change_id, fields)).body.code;
    expect(await readError()).toBe("illegal_transition");
    await api.post("approve", { change_id, approver: "ana", note: "fine" });
    expect(await readError()).toBe("illegal_transition");
    await api.must("apply", change_id);
    expect((await api.post("note", { change_id, item: "rationale", note: "x" })).body.code).toBe("invalid_field");
    expect((await addNote(api, change_id)).status).toBe(200);
    expect(await readError(), "a second time").toBe("illegal_transition");
    expect(await readError({ item: "note" }), "the change has a note").toBe("illegal_transition");
    expect(await readError({ item: "summary" })).toBe("invalid_field");
    expect(await readError({ note: " " })).toBe("invalid_field");
    expect((await addNote(api, "chg_none")).body.code).toBe("change_not_found");
    // A note before the close counts as present at the close, and as late.
    await api.must("rollback", change_id);
    expect((await api.change(change_id)).late_notes).toHaveLength(1);
    expect(await readM(api)).toMatchObject({ closed: 1, late: 1, missing: { rationale: 0, note: 0 } });
  });
}
