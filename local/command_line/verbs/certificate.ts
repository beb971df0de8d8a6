/** Verb that downloads a certificate. */
import type { Verb } from "../verb.ts";

/** Downloads the certificate of a change. */
export const certificate: Verb = {
  usage: "certificate <change_id>",
  operation: "GET /api/product/changes/{change_id}/certificate",
  options: { "--output <file>": "write to this file instead of the output" },
  plain: true,
  async run({ client, save }, { args: { change_id = "" }, options: { output } }) {
    const params = { path: { change_id } };
    await save(
      await client.download("/api/product/changes/{change_id}/certificate", { params }),
      // An option with a placeholder has text, or is absent.
      output as string | undefined,
    );
    // `save` has written the certificate; there is nothing more to print.
    return {};
  },
};
