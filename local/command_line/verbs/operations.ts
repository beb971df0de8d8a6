/** Verbs for operations on target systems. */
import { STAGE_ACTIONS, type StageAction } from "../../../lib/changes/rules/stage_action.ts";
import { readName, signDecision, SIGNING } from "../signing.ts";
import { formatJson } from "../text.ts";
import { NotDone } from "../exit.ts";
import type { Session, Verb } from "../verb.ts";

/**
 * Builds the body of a request, signed if `--key` is set; a signed request also requires the revision of the change that was shown
 * (`params`). The body has no type, since the fields of the command line have none; the service checks them.
 */
async function buildRequest(
  session: Session,
  decision: "apply" | "rollback" | "restore" | "stage",
  change_id: string,
  { fields, options }: Pick<Parameters<Verb["run"]>[1], "fields" | "options">,
  stageFacts: { step?: number; action?: StageAction } = {},
) {
  const body = { change_id, ...fields };
  if (typeof options["key"] !== "string") return { body: body as never, params: {} };
  const over_drift = fields["over_drift"] === true || undefined;
  const subject = {
    decision,
    approver: readName(fields, "actor"),
    note: String(fields["note"] ?? ""),
    over_drift,
    ...stageFacts,
  };
  const signed = await signDecision(session, change_id, subject, options["key"], options["yes"] === true);
  return { body: { ...body, ...signed.fields } as never, params: signed.params };
}

function createVerb(name: "apply" | "rollback"): Verb {
  const path = `/api/product/${name}` as const;
  return {
    usage: `${name} <change_id>`,
    operation: `POST ${path}`,
    fields: ["dry_run", "actor", "note", ...(name === "rollback" ? ["over_drift"] : [])],
    options: SIGNING,
    async run(session, call) {
      const { change_id = "" } = call.args;
      const request = await buildRequest(session, name, change_id, call);
      const { status, dry_run, adapter, audit_entry } = await session.client.post(path, request);
      const host = adapter === null ? "no adapter" : `${adapter.name}: ${adapter.result}`;
      const text = `${change_id}  ${status} (${host})${audit_entry ? `, entry ${audit_entry.id}` : ""}`;
      if (!dry_run) return { text };
      // `holds` is null for a target without a value, and absent if the target was not read.
      const { preview = null, holds } = adapter ?? {};
      const lines = [`${text}, dry run`, formatJson(preview)];
      if (holds) lines.push("The target holds:", formatJson(holds.value));
      if (holds === null) lines.push("The target holds nothing");
      return { text: lines.join("\n") };
    },
  };
}

/** Applies an approved change. */
export const apply = createVerb("apply");
/** Rolls back an applied change. */
export const rollback = createVerb("rollback");

/** Holds, resumes or advances a rollout. */
export const stage: Verb = {
  usage: "stage <change_id> <action>",
  operation: "POST /api/product/stage",
  fields: ["step", "actor", "note"],
  options: SIGNING,
  async run(session, call) {
    const { change_id = "", action: argument = "" } = call.args;
    const action = STAGE_ACTIONS.find((candidate) => candidate === argument);
    if (!action) throw new NotDone(`${argument} is not one of ${STAGE_ACTIONS.join(", ")}`);
    const step = Number(call.fields["step"]);
    const { body, params } = await buildRequest(session, "stage", change_id, call, { step, action });
    const request = { body: { ...(body as object), action } as never, params };
    const { status, change, audit_entry } = await session.client.post("/api/product/stage", request);
    const { exposure } = change;
    const progress = exposure ? `step ${exposure.step}, waits for ${exposure.waits_for ?? "nothing"}` : status;
    return { text: `${change_id}  ${progress}, entry ${audit_entry?.id}` };
  },
};

/** Restores the consented value after an edit from outside; the verb `restore` restores a store. */
export const restoreValue: Verb = {
  usage: "restore-value <change_id>",
  operation: "POST /api/product/restore",
  fields: ["actor", "note"],
  options: SIGNING,
  async run(session, call) {
    const { change_id = "" } = call.args;
    const request = await buildRequest(session, "restore", change_id, call);
    const { status, adapter, audit_entry } = await session.client.post("/api/product/restore", request);
    return { text: `${change_id}  ${status} (${adapter?.name}: ${adapter?.result}), entry ${audit_entry?.id}` };
  },
};
