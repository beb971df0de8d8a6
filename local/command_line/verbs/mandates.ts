/** Mandates: read, and decided on by name or with an SSH key. */
import type { MandateView } from "../../../lib/changes/mandates/view.ts";
import { MANDATE_BOUNDS, type MandateDecision } from "../../../lib/changes/rules/mandate.ts";
import { missingTexts } from "../change_text.ts";
import { NotDone } from "../exit.ts";
import { readName, signed, SIGNING } from "../signing.ts";
import { facts, table, visible } from "../text.ts";
import type { Session, Verb } from "../verb.ts";

const read = async ({ client }: Session, mandate_id: string) => {
  const path = "/api/product/mandates/{mandate_id}";
  const mandate = await client.get(path, { params: { path: { mandate_id } } });
  if (mandate.mandate_id !== mandate_id) throw new NotDone(`the service shows ${mandate.mandate_id}; sign nothing`);
  return mandate as unknown as MandateView;
};

const rowText = (value: unknown): string | undefined => {
  if (value === undefined || value === null) return undefined;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};

/** A mandate in lines: its state, why it approves nothing, its bounds, and what is used and left. */
function mandateText(mandate: MandateView): string {
  const { mandate_id, state, inactive, note, systems, signatures, missing, used, left, suspension, ended } = mandate;
  const bounds = MANDATE_BOUNDS.map((bound) => [bound, rowText(mandate[bound])] as const);
  return [
    `${mandate_id}  ${state}`,
    facts({
      inactive,
      suspension: rowText(suspension),
      ended: rowText(ended),
      ...Object.fromEntries(bounds),
      systems: systems.map((system) => JSON.stringify(system)).join("\n"),
      note,
      signed: signatures.map(({ approver, at }) => `${approver} at ${at}`).join("\n"),
      missing: missingTexts(missing).join("\n"),
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
    return { text: table(["id", "state", "agent", "until", "left today", "targets"], rows, columns) };
  },
};

/** Shows one mandate. */
export const mandateShow: Verb = {
  usage: "mandate show <mandate_id>",
  operation: "GET /api/product/mandates/{mandate_id}",
  run: async (session, { args: { mandate_id = "" } }) => ({ text: mandateText(await read(session, mandate_id)) }),
};

/** Makes a draft. */
export const mandateDraft: Verb = {
  usage: "mandate draft",
  operation: "POST /api/product/mandates",
  fields: [...MANDATE_BOUNDS, "note", "actor"],
  async run({ client }, { fields }) {
    const mandate = await client.post("/api/product/mandates", { body: fields as never });
    return { text: mandateText(mandate as unknown as MandateView) };
  },
};

function act(name: "sign" | "narrow" | "resume" | "revoke", decision: MandateDecision): Verb {
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
        const mandate = await read(session, mandate_id);
        session.say(`${mandateText(mandate)}\n`);
        const narrow = fields["narrow"] as object | undefined;
        const matter = { decision, approver, note: String(fields["note"] ?? ""), mandate, narrow };
        body = { ...body, ...(await signed(session, matter, options["key"], options["yes"] === true)) };
      }
      const { state, missing, audit_entry } = await session.client.post(path, { body: body as never });
      const text = `${visible(mandate_id)}  ${state}${audit_entry ? `, entry ${audit_entry.id}` : ", removed"}`;
      return { text: `${text}\n${facts({ missing: missingTexts(missing).join("\n") })}`.trimEnd() };
    },
  };
}

/** Signs a draft. */
export const mandateSign = act("sign", "mandate");
/** Makes bounds smaller. */
export const mandateNarrow = act("narrow", "mandate_narrow");
/** Signs the resumption of a suspended mandate. */
export const mandateResume = act("resume", "mandate_resume");
/** Ends a mandate. */
export const mandateRevoke = act("revoke", "mandate_revoke");
