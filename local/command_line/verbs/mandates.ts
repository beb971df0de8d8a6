/** Verbs that show mandates and decide on them, unsigned or signed with an SSH key. */
import type { MandateView } from "../../../lib/changes/mandates/view.ts";
import { MANDATE_BOUNDS, type MandateDecision } from "../../../lib/changes/rules/mandate.ts";
import { describeMissing } from "../change_text.ts";
import { NotDone } from "../exit.ts";
import { readName, sign, SIGNING } from "../signing.ts";
import { formatFacts, formatTable, escapeInvisible } from "../text.ts";
import type { Session, Verb } from "../verb.ts";

const readMandate = async ({ client }: Session, mandate_id: string) => {
  const path = "/api/product/mandates/{mandate_id}";
  const mandate = await client.get(path, { params: { path: { mandate_id } } });
  if (mandate.mandate_id !== mandate_id) throw new NotDone(`the service shows ${mandate.mandate_id}; sign nothing`);
  return mandate as unknown as MandateView;
};

const formatValue = (value: unknown): string | undefined => {
  if (value === undefined || value === null) return undefined;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};

/** Formats a mandate: its state, its bounds, its signatures, and its use. */
function mandateText(mandate: MandateView): string {
  const { mandate_id, state, inactive, note, systems, signatures, missing, used, left, suspension, ended } = mandate;
  const bounds = MANDATE_BOUNDS.map((bound) => [bound, formatValue(mandate[bound])] as const);
  return [
    `${mandate_id}  ${state}`,
    formatFacts({
      inactive,
      suspension: formatValue(suspension),
      ended: formatValue(ended),
      ...Object.fromEntries(bounds),
      systems: systems.map((system) => JSON.stringify(system)).join("\n"),
      note,
      signed: signatures.map(({ approver, at }) => `${approver} at ${at}`).join("\n"),
      missing: describeMissing(missing).join("\n"),
      today: `${used.today} used, ${left.today} left`,
      open: `${used.open} used, ${left.open} left`,
    }),
  ].join("\n");
}

/** Lists mandates and drafts. */
export const mandateList: Verb = {
  usage: "mandate list",
  operation: "GET /api/product/mandates",
  fields: ["state", "agent", "limit", "after"],
  async run({ client, columns, say }, { fields }) {
    // The program has parsed the fields by the API's description, which their type does not show.
    const { mandates, next } = await client.get("/api/product/mandates", { params: { query: fields as never } });
    if (next !== null) say(`the next: --after ${next}`);
    if (mandates.length === 0) return { text: "no mandates" };
    const rows = mandates.map((mandate) => [
      mandate.mandate_id,
      mandate.state,
      mandate.agent,
      mandate.until,
      `${mandate.left["today"]}`,
      mandate.targets.join(", "),
    ]);
    return { text: formatTable(["id", "state", "agent", "until", "left today", "targets"], rows, columns) };
  },
};

/** Shows one mandate. */
export const mandateShow: Verb = {
  usage: "mandate show <mandate_id>",
  operation: "GET /api/product/mandates/{mandate_id}",
  run: async (session, { args: { mandate_id = "" } }) => ({
    text: mandateText(await readMandate(session, mandate_id)),
  }),
};

/** Creates a draft. */
export const mandateDraft: Verb = {
  usage: "mandate draft",
  operation: "POST /api/product/mandates",
  fields: [...MANDATE_BOUNDS, "note", "actor"],
  async run({ client }, { fields }) {
    const mandate = await client.post("/api/product/mandates", { body: fields as never });
    return { text: mandateText(mandate as unknown as MandateView) };
  },
};

/** Creates the verb of a decision. With a key, it shows the mandate as the service has it, and signs that. */
function createVerb(name: "sign" | "narrow" | "resume" | "revoke", decision: MandateDecision): Verb {
  const path = `/api/product/mandate-${name}` as const;
  return {
    usage: `mandate ${name} <mandate_id>`,
    operation: `POST ${path}`,
    fields: ["approver", "note", ...(name === "narrow" ? ["narrow"] : [])],
    options: SIGNING,
    async run(session, { args: { mandate_id = "" }, fields, options }) {
      let body: object = { mandate_id, ...fields };
      if (typeof options["key"] === "string") {
        const approver = readName(fields, "approver");
        const mandate = await readMandate(session, mandate_id);
        session.say(`${mandateText(mandate)}\n`);
        const narrow = fields["narrow"] as object | undefined;
        const subject = { decision, approver, note: String(fields["note"] ?? ""), mandate, narrow };
        body = { ...body, ...(await sign(session, subject, options["key"], options["yes"] === true)) };
      }
      const { state, missing, audit_entry } = await session.client.post(path, { body: body as never });
      // Only the revocation of an unsigned draft has no entry: the draft is removed.
      const text = `${escapeInvisible(mandate_id)}  ${state}${audit_entry ? `, entry ${audit_entry.id}` : ", removed"}`;
      return { text: `${text}\n${formatFacts({ missing: describeMissing(missing).join("\n") })}`.trimEnd() };
    },
  };
}

/** Signs a draft. */
export const mandateSign = createVerb("sign", "mandate");
/** Narrows bounds. */
export const mandateNarrow = createVerb("narrow", "mandate_narrow");
/** Signs the resumption of a suspended mandate. */
export const mandateResume = createVerb("resume", "mandate_resume");
/** Ends a mandate. */
export const mandateRevoke = createVerb("revoke", "mandate_revoke");
