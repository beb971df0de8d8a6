/** What is done to the host product. */
import { shownJson } from "../text.ts";
import type { Verb } from "../verb.ts";

function operation(name: "apply" | "rollback"): Verb {
  const path = `/api/product/${name}` as const;
  return {
    usage: `${name} <change_id>`,
    operation: `POST ${path}`,
    fields: ["dry_run", "actor", "note"],
    async run({ client }, { args: { change_id = "" }, fields }) {
      const { status, dry_run, adapter, audit_entry } = await client.post(path, { body: { change_id, ...fields } });
      const host = adapter === null ? "no adapter" : `${adapter.name}: ${adapter.result}`;
      const text = `${change_id}  ${status} (${host})${audit_entry ? `, entry ${audit_entry.id}` : ""}`;
      if (!dry_run) return { text };
      const { preview = null, holds } = adapter ?? {};
      const looked = [`${text}, dry run`, shownJson(preview)];
      if (holds) looked.push("The target holds:", shownJson(holds.value));
      if (holds === null) looked.push("The target holds nothing");
      return { text: looked.join("\n") };
    },
  };
}

/** Carries an approved change to the host product. */
export const apply = operation("apply");
/** Takes an applied change back. */
export const rollback = operation("rollback");

/** Sets the consented value again after an edit from outside; `restore` is of a store. */
export const restoreValue: Verb = {
  usage: "restore-value <change_id>",
  operation: "POST /api/product/restore",
  fields: ["actor", "note"],
  async run({ client }, { args: { change_id = "" }, fields }) {
    const { status, adapter, audit_entry } = await client.post("/api/product/restore", {
      body: { change_id, ...fields },
    });
    return { text: `${change_id}  ${status} (${adapter?.name}: ${adapter?.result}), entry ${audit_entry?.id}` };
  },
};
