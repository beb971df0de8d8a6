/** Verb that proposes a change. */
import { sha256 } from "../../node_ports.ts";
import { canonicalContent, type Content } from "../../../lib/changes/rules/content.ts";
import { DEFAULTED_FIELDS } from "../../../lib/changes/rules/change_terms.ts";
import { listContentFacts, describeMissing, describeNotMinor } from "../change_text.ts";
import { NotDone } from "../exit.ts";
import { readName, sign, SIGNING } from "../signing.ts";
import { formatFacts, escapeInvisible } from "../text.ts";
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
      const content = await readContent(session, fields, approver);
      session.say(
        `${escapeInvisible(content.summary)}\n\n${formatFacts({
          ...listContentFacts(
            content,
            DEFAULTED_FIELDS.filter((field) => !(field in fields)),
          ),
          proposer: approver,
        })}\n`,
      );
      const subject = { decision: "propose", approver, note: "", proposal: fields, content } as const;
      body = { ...fields, ...(await sign(session, subject, options["key"], options["yes"] === true)) };
    }
    const change = await session.client.post("/api/product/propose", { body: body as never });
    const { change_id, status, digest, conflicts, missing, audit_entry, target_spelling, tier_reason } = change;
    const receipt = `entry ${audit_entry.id}, ${audit_entry.current_hash}`;
    const facts = formatFacts({
      digest,
      target_spelling,
      "not minor": describeNotMinor(tier_reason),
      conflicts: conflicts.join(", "),
      receipt,
      missing: describeMissing(missing).join("\n"),
    });
    return { text: `${change_id}  ${status}\n${facts}` };
  },
};

/** Defaults of fields that are not stated. */
// prettier-ignore
const DEFAULTS = { rationale: "", expected_delta_k: null, affected_users: null, reversible: true, risk: "medium", kpi: null };

/**
 * Requests the content that the service will record, and verifies that it is what was proposed: the service may set only the tier,
 * the spelling of targets, the Unicode form of text, and a time in UTC. `approver`: the proposer, who signs. Errors: `NotDone`.
 */
async function readContent(
  { client }: Session,
  proposal: Readonly<Record<string, unknown>>,
  approver: string,
): Promise<Content> {
  const body = { decision: "propose", approver, proposal } as never;
  const { statement, content } = await client.post("/api/product/consent-statement", { body });
  const promoted = await readPromoted(client, proposal);
  const expected = { ...DEFAULTS, ...promoted, ...proposal, tier: content?.tier } as Content;
  const isInStatement = content && statement.includes(`"digest":"${sha256(canonicalContent(content as Content))}"`);
  if (isInStatement && normalizeContent(content as Content) === normalizeContent(expected)) return content as Content;
  throw new NotDone(
    "the statement of the service does not match the proposal; nothing was signed and nothing was sent",
  );
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

/** Normalizes what the service may write differently in a content: spelling of targets, Unicode form, outer blanks, times. */
function normalizeContent(content: Content): string {
  const { summary, proposer, apply_when, sets } = content;
  return canonicalContent({
    ...content,
    ...normalizeTarget(content),
    ...(sets && { sets: sets.map((entry) => ({ ...entry, ...normalizeTarget(entry) })) }),
    summary: summary.normalize("NFC").trim(),
    proposer: proposer?.normalize("NFKC").trim() ?? null,
    ...(apply_when === undefined || apply_when === "manual"
      ? { apply_when: undefined }
      : { apply_when: toUtc(apply_when) }),
  });
}

const normalizeTarget = ({ tenant_id, target }: Pick<Content, "tenant_id" | "target">) => ({
  tenant_id: tenant_id.normalize("NFC").trim(),
  target: target.toLowerCase(),
});

/** Converts a time to UTC, as the service writes it; `approved` stays. */
const toUtc = (text: string): string => (text === "approved" ? text : new Date(text).toISOString());
