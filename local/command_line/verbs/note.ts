import type { Verb } from "../verb.ts";

/** Says afterwards what a decided change lacks. */
export const note: Verb = {
  usage: "note <change_id>",
  operation: "POST /api/product/note",
  fields: ["item", "note", "actor"],
  async run({ client }, { args: { change_id = "" }, fields }) {
    const body = { change_id, ...fields };
    const { change, audit_entry } = await client.post("/api/product/note", { body: body as never });
    return { text: `${change_id}  ${change.status}, late ${String(fields["item"])}, entry ${audit_entry.id}` };
  },
};
