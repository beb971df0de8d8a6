/** Verb that shows the caller. */
import { formatFacts } from "../text.ts";
import type { Verb } from "../verb.ts";

/** Shows how the service identifies the caller. */
export const whoami: Verb = {
  usage: "whoami",
  operation: "GET /api/whoami",
  async run({ client }) {
    const { name, kind, authenticated, may, keys } = await client.get("/api/whoami");
    const identity = { name: name ?? "nobody", kind, authenticated, may: may.join(", ") };
    return { text: formatFacts({ ...identity, keys: keys.map(({ type }) => type).join(", ") }) };
  },
};
