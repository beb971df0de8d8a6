/** Verb that adds a late note: the rationale or the note that a decided change lacks (`item`). */
import { readName, signDecision, SIGNING } from "../signing.ts";
import type { Verb } from "../verb.ts";

/** Adds a late note to a decided change; with `--key` it is signed, and sent for the revision that was signed. */
export const note: Verb = {
  usage: "note <change_id>",
  operation: "POST /api/product/note",
  fields: ["item", "note", "actor"],
  options: SIGNING,
  async run(session, { args: { change_id = "" }, fields, options }) {
    const item = String(fields["item"]);
    let body: object = { change_id, ...fields };
    let params: { header?: { "If-Match": string } } = {};
    if (typeof options["key"] === "string") {
      const approver = readName(fields, "actor");
      const subject = { decision: "note", approver, note: String(fields["note"] ?? ""), item } as const;
      const signed = await signDecision(session, change_id, subject, options["key"], options["yes"] === true);
      body = { ...body, ...signed.fields };
      params = signed.params;
    }
    // The fields of a command are untyped; the service validates them.
    const { change, audit_entry } = await session.client.post("/api/product/note", { body: body as never, params });
    return { text: `${change_id}  ${change.status}, late ${item}, entry ${audit_entry.id}` };
  },
};
