/** Verb that accepts the loss of the log's end. */
import { readName, sign, SIGNING } from "../signing.ts";
import type { Verb } from "../verb.ts";

/** Accepts the loss of the end of the log; `length` and `head` are those that `audit verify` returns. */
export const acceptLoss: Verb = {
  usage: "accept-loss",
  operation: "POST /api/product/audit/accept-loss",
  fields: ["actor", "note", "length", "head"],
  options: SIGNING,
  async run(session, { fields, options }) {
    const end = { length: Number(fields["length"]), head: String(fields["head"]) };
    let body: object = { ...fields, ...end };
    if (typeof options["key"] === "string") {
      const note = String(fields["note"] ?? "");
      const subject = { decision: "accept_loss", actor: readName(fields, "actor"), note, ...end } as const;
      body = { ...body, ...(await sign(session, subject, options["key"], options["yes"] === true)) };
    }
    // The fields were read by name, so their types are unknown; the service validates them.
    const { known, length, audit_entry } = await session.client.post("/api/product/audit/accept-loss", {
      body: body as never,
    });
    const result = `entries up to ${known.length} may be lost, the log continues from ${length}`;
    return { text: `${result}; the service is frozen until you unfreeze it, entry ${audit_entry.id}` };
  },
};
