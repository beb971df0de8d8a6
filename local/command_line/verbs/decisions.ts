/** What people decide on a change: by name, or signed with their SSH key. */
import type { Decision } from "../../../lib/governance/rules/statement.ts";
import { NotDone } from "../exit.ts";
import { changeText } from "../change_text.ts";
import { nameIn, signed, SIGNING } from "../signing.ts";
import type { Verb } from "../verb.ts";

type Decided = "approve" | "deny" | "revoke" | "withdraw";

function decision(name: Decided, who: "approver" | "proposer", more: readonly string[] = []): Verb {
  const path = `/api/product/${name}` as const;
  return {
    usage: `${name} <change_id>`,
    operation: `POST ${path}`,
    fields: [who, "note", ...more],
    options: SIGNING,
    async run(session, { args: { change_id = "" }, fields, options }) {
      const { client, say } = session;
      let body: object = { change_id, ...fields };
      let params: { header?: { "If-Match": string } } = {};
      if (typeof options["key"] === "string") {
        const approver = nameIn(fields, who);
        const change = await client.get("/api/product/changes/{change_id}", { params: { path: { change_id } } });
        if (change.change_id !== change_id) throw new NotDone(`the service shows ${change.change_id}; sign nothing`);
        say(`${changeText(change)}\n`);
        const stated: Decision = fields["emergency"] === true ? "approve_emergency" : name;
        const matter = { decision: stated, approver, note: String(fields["note"] ?? ""), change };
        body = { ...body, ...(await signed(session, matter, options["key"], options["yes"] === true)) };
        params = { header: { "If-Match": `"${change.revision}"` } };
      }
      const { status, decision, approvals, audit_entry } = await client.post(path, { body: body as never, params });
      const of = status === "pending_consent" ? ` (${approvals.length} consents so far)` : "";
      return { text: `${change_id}  ${status === "denied" ? decision : status}${of}, entry ${audit_entry.id}` };
    },
  };
}

/** Gives consent. */
export const approve = decision("approve", "approver", ["emergency"]);
/** Refuses consent. */
export const deny = decision("deny", "approver");
/** Takes consent back. */
export const revoke = decision("revoke", "approver");
/** Takes a proposal back. */
export const withdraw = decision("withdraw", "proposer");
