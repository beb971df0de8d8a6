import { sha256 } from "../../node_ports.ts";
import { canonicalContent, type Content } from "../../../lib/changes/rules/content.ts";
import { DEFAULTED_FIELDS } from "../../../lib/changes/rules/change_terms.ts";
import { contentFacts, missingTexts } from "../change_text.ts";
import { NotDone } from "../exit.ts";
import { readName, signed, SIGNING } from "../signing.ts";
import { facts, visible } from "../text.ts";
import type { Session, Verb } from "../verb.ts";

/** Proposes a change. */
export const propose: Verb = {
  usage: "propose",
  operation: "POST /api/product/propose",
  fields: [
    ...["tenant_id", "kind", "target", "summary", "value", "rationale", "expected_delta_k", "kpi", "affected_users"],
    ...["reversible", "tier", "risk", "proposer", "apply_when", "supersedes", "promotes", "stages"],
  ],
  options: SIGNING,
  async run(session, { fields, options }) {
    let body: object = fields;
    if (typeof options["key"] === "string") {
      const approver = readName(fields, "proposer");
      const content = await contentOf(session, fields, approver);
      session.say(
        `${visible(content.summary)}\n\n${facts({
          ...contentFacts(
            content,
            DEFAULTED_FIELDS.filter((field) => !(field in fields)),
          ),
          proposer: approver,
        })}\n`,
      );
      const matter = { decision: "propose", approver, note: "", proposal: fields, content } as const;
      body = { ...fields, ...(await signed(session, matter, options["key"], options["yes"] === true)) };
    }
    const change = await session.client.post("/api/product/propose", { body: body as never });
    const { change_id, status, digest, conflicts, missing, audit_entry, target_spelling } = change;
    const receipt = `entry ${audit_entry.id}, ${audit_entry.current_hash}`;
    const known = facts({
      digest,
      target_spelling,
      conflicts: conflicts.join(", "),
      receipt,
      missing: missingTexts(missing).join("\n"),
    });
    return { text: `${change_id}  ${status}\n${known}` };
  },
};

/** The content of what is not stated. */
// prettier-ignore
const ABSENT = { rationale: "", expected_delta_k: null, affected_users: null, reversible: true, risk: "medium", kpi: null };

/**
 * Returns the content that the service will record. It grants the tier, and writes the target as it was first applied and text
 * in its normal form; in nothing else may it differ from what was typed. Errors: `NotDone`.
 */
async function contentOf(
  { client }: Session,
  proposal: Readonly<Record<string, unknown>>,
  approver: string,
): Promise<Content> {
  const body = { decision: "propose", approver, proposal } as never;
  const { statement, content } = await client.post("/api/product/consent-statement", { body });
  const promoted = await readPromoted(client, proposal);
  const typed = { ...ABSENT, ...promoted, ...proposal, tier: content?.tier } as Content;
  const isStated = content && statement.includes(`"digest":"${sha256(canonicalContent(content as Content))}"`);
  if (isStated && comparable(content as Content) === comparable(typed)) return content as Content;
  throw new NotDone("what the service wants signed is not what was proposed; nothing was signed and nothing was sent");
}

/** Reads kind, target and values of a change that is promoted to a tenant; empty without one. */
async function readPromoted(
  client: Session["client"],
  { promotes, tenant_id }: Readonly<Record<string, unknown>>,
): Promise<Partial<Content>> {
  if (typeof promotes !== "string") return {};
  const { kind, target, value, sets } = await client.get("/api/product/changes/{change_id}", {
    params: { path: { change_id: promotes } },
  });
  if (sets) return { kind, target, sets: sets.map((entry) => ({ ...entry, tenant_id: String(tenant_id) })) };
  return { kind, target, ...(value !== undefined && { value }) };
}

/** A content without what the service writes otherwise: spelling of the target, Unicode form, outer blanks. */
function comparable(content: Content): string {
  const { summary, proposer, apply_when, sets } = content;
  return canonicalContent({
    ...content,
    ...comparablePlace(content),
    ...(sets && { sets: sets.map((entry) => ({ ...entry, ...comparablePlace(entry) })) }),
    summary: summary.normalize("NFC").trim(),
    proposer: proposer?.normalize("NFKC").trim() ?? null,
    ...(apply_when === undefined || apply_when === "manual"
      ? { apply_when: undefined }
      : { apply_when: momentOf(apply_when) }),
  });
}

const comparablePlace = ({ tenant_id, target }: Pick<Content, "tenant_id" | "target">) => ({
  tenant_id: tenant_id.normalize("NFC").trim(),
  target: target.toLowerCase(),
});

/** A time in UTC, as the service writes it. */
const momentOf = (text: string): string => (text === "approved" ? text : new Date(text).toISOString());
