/** Verb that shows the caller. */
import type { Answer } from "../../../lib/client/client.ts";
import { formatFacts } from "../text.ts";
import type { Session, Verb } from "../verb.ts";

type Caller = Answer<"/api/whoami", "get">;

/** Shows how the service identifies the caller. */
export const whoami: Verb = {
  usage: "whoami",
  operation: "GET /api/whoami",
  async run({ client, token, say }) {
    const caller = await client.get("/api/whoami");
    const { name, kind, authenticated, may, keys } = caller;
    const isKnown = isKnownToken(token, caller);
    if (!isKnown) say("countersign: the token is not known here");
    const identity = { name: name ?? "nobody", kind, authenticated, may: may.join(", ") };
    return {
      text: formatFacts({ ...identity, keys: keys.map(({ type }) => type).join(", ") }),
      exit: isKnown ? "done" : "unauthorized",
    };
  },
};

/**
 * Returns false if the answer shows that the service does not know the token: it describes a caller without the kind or the
 * permissions of this token.
 */
function isKnownToken(token: Session["token"], { kind, authenticated, may }: Caller): boolean {
  if (token === "agent") return kind === "agent";
  if (token === "admin") return authenticated !== null || may.includes("propose");
  return token === undefined || may.includes("read");
}
