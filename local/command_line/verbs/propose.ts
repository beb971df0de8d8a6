import { sha256 } from "../../node_ports.ts";
import { canonicalContent, type Content } from "../../../lib/governance/rules/content.ts";
import { UNSTATED } from "../../../lib/governance/rules/change_terms.ts";
import { contentFacts } from "../change_text.ts";
import { NotDone } from "../exit.ts";
import { OPERATIONS } from "../../../lib/client/generated/operations.ts";
import { nameIn, signed, SIGNING } from "../signing.ts";
import { facts, visible } from "../text.ts";
import type { Session, Verb } from "../verb.ts";

/** Proposes a change. */
export const propose: Verb = {
  usage: "propose",
  operation: "POST /api/product/propose",
  fields: [
    ...["tenant_id", "kind", "target", "summary", "value", "rationale", "expected_delta_k", "kpi", "affected_users"],
    ...["reversible", "tier", "risk", "proposer", "supersedes"],
  ],
  options: SIGNING,
  async run(session, { fields, options }) {
    let body: object = fields;
    if (typeof options["key"] === "string") {
      const approver = nameIn(fields, "proposer");
      const content = await contentOf(session, fields, approver);
      session.say(
        `${visible(content.summary)}\n\n${facts({
          ...contentFacts(
            content,
            UNSTATED.filter((field) => !(field in fields)),
          ),
          proposer: approver,
        })}\n`,
      );
      const matter = { decision: "propose", approver, note: "", proposal: fields, content } as const;
      body = { ...fields, ...(await signed(session, matter, options["key"], options["yes"] === true)) };
    }
    const change = await session.client.post("/api/product/propose", { body: body as never });
    const { change_id, status, digest, conflicts, audit_entry } = change;
    const receipt = `entry ${audit_entry.id}, ${audit_entry.current_hash}`;
    return { text: `${change_id}  ${status}\n${facts({ digest, conflicts: conflicts.join(", "), receipt })}` };
  },
};

/** What the API takes for absent. */
// prettier-ignore
const ABSENT = { rationale: "", expected_delta_k: null, affected_users: null, reversible: true, risk: "medium", kpi: null };

/** The content that a proposal will have. Its tier is the policy's to grant, and so the one whose digest the service states. */
async function contentOf(
  { client }: Session,
  proposal: Readonly<Record<string, unknown>>,
  approver: string,
): Promise<Content> {
  const body = { decision: "propose", approver, proposal } as never;
  const { statement } = await client.post("/api/product/consent-statement", { body });
  const { choices } = OPERATIONS["POST /api/product/propose"].fields.tier;
  const content = choices
    .map((tier) => ({ ...ABSENT, ...proposal, tier }) as Content)
    .find((one) => statement.includes(`"digest":"${sha256(canonicalContent(one))}"`));
  if (content) return content;
  throw new NotDone("what the service wants signed is not what was proposed; nothing was signed and nothing was sent");
}
