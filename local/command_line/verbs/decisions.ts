/** Decisions of people on a change: by name, or signed with their SSH key. */
import type { Decision } from "../../../lib/changes/rules/statement.ts";
import { readName, signDecision, SIGNING } from "../signing.ts";
import { missingTexts } from "../change_text.ts";
import { facts } from "../text.ts";
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
      let body: object = { change_id, ...fields };
      let params: { header?: { "If-Match": string } } = {};
      if (typeof options["key"] === "string") {
        const stated: Decision = fields["emergency"] === true ? "approve_emergency" : name;
        const decided = { decision: stated, approver: readName(fields, who), note: String(fields["note"] ?? "") };
        const signed = await signDecision(session, change_id, decided, options["key"], options["yes"] === true);
        body = { ...body, ...signed.fields };
        params = signed.params;
      }
      const { status, decision, approvals, missing, audit_entry } = await session.client.post(path, {
        body: body as never,
        params,
      });
      const of = status === "pending_consent" ? ` (${approvals.length} consents so far)` : "";
      const decided = `${change_id}  ${status === "denied" ? decision : status}${of}, entry ${audit_entry.id}`;
      return { text: `${decided}\n${facts({ missing: missingTexts(missing ?? []).join("\n") })}`.trimEnd() };
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
