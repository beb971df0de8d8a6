import { facts } from "../text.ts";
import type { Verb } from "../verb.ts";

/** Says who the service takes the caller for. */
export const whoami: Verb = {
  usage: "whoami",
  operation: "GET /api/whoami",
  async run({ client }) {
    const { name, kind, authenticated, may, keys } = await client.get("/api/whoami");
    const shown = { name: name ?? "nobody", kind, authenticated, may: may.join(", ") };
    return { text: facts({ ...shown, keys: keys.map(({ type }) => type).join(", ") }) };
  },
};
