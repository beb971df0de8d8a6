/** Verbs for people's decisions on a change, unsigned or signed with an SSH key. */
import type { Decision } from "../../../lib/changes/rules/statement.ts";
import { readName, signDecision, SIGNING } from "../signing.ts";
import { describeMissing } from "../change_text.ts";
import { formatFacts } from "../text.ts";
import type { Verb } from "../verb.ts";

type PersonDecision = "approve" | "deny" | "revoke" | "withdraw";

function createVerb(
  name: PersonDecision,
  signerField: "approver" | "proposer",
  optionFields: readonly string[] = [],
): Verb {
  const path = `/api/product/${name}` as const;
  return {
    usage: `${name} <change_id>`,
    operation: `POST ${path}`,
    fields: [signerField, "note", ...optionFields],
    options: SIGNING,
    async run(session, { args: { change_id = "" }, fields, options }) {
      let body: object = { change_id, ...fields };
      let params: { header?: { "If-Match": string } } = {};
      if (typeof options["key"] === "string") {
        const decision: Decision = fields["emergency"] === true ? "approve_emergency" : name;
        const subject = {
          decision,
          approver: readName(fields, signerField),
          note: String(fields["note"] ?? ""),
        };
        const signed = await signDecision(session, change_id, subject, options["key"], options["yes"] === true);
        body = { ...body, ...signed.fields };
        params = signed.params;
      }
      const { status, decision, approvals, missing, audit_entry } = await session.client.post(path, {
        body: body as never,
        params,
      });
      // A change with the status denied may have been withdrawn instead: `decision` says which.
      const progress = status === "pending_consent" ? ` (${approvals.length} consents so far)` : "";
      const result = `${change_id}  ${status === "denied" ? decision : status}${progress}, entry ${audit_entry.id}`;
      return { text: `${result}\n${formatFacts({ missing: describeMissing(missing ?? []).join("\n") })}`.trimEnd() };
    },
  };
}

/** Gives consent. */
export const approve = createVerb("approve", "approver", ["emergency"]);
/** Denies consent. */
export const deny = createVerb("deny", "approver");
/** Revokes consent. */
export const revoke = createVerb("revoke", "approver");
/** Withdraws a proposal. */
export const withdraw = createVerb("withdraw", "proposer");
