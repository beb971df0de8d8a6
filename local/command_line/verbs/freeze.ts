/** Verbs that stop all applies (a freeze), and that allow them again. */
import { readName, sign, SIGNING } from "../signing.ts";
import type { Verb } from "../verb.ts";

function createVerb(name: "freeze" | "unfreeze", fields: readonly string[]): Verb {
  const path = `/api/product/${name}` as const;
  return {
    usage: name,
    operation: `POST ${path}`,
    fields,
    options: SIGNING,
    async run(session, { fields, options }) {
      let body: object = fields;
      if (typeof options["key"] === "string") {
        const until = fields["until"] as string | undefined;
        const subject = { decision: name, actor: readName(fields, "actor"), note: String(fields["note"] ?? ""), until };
        body = { ...fields, ...(await sign(session, subject, options["key"], options["yes"] === true)) };
      }
      const { frozen, freeze, audit_entry } = await session.client.post(path, { body: body as never });
      const until = freeze?.until ? ` until ${freeze.until}` : "";
      return { text: `${frozen ? `frozen${until}` : "not frozen"}, entry ${audit_entry.id}` };
    },
  };
}

/** Stops all applies. */
export const freeze = createVerb("freeze", ["actor", "note", "until"]);
/** Allows applies again. */
export const unfreeze = createVerb("unfreeze", ["actor", "note"]);
