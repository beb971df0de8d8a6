/** Who consented, and how that is known. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import type { Actor } from "./actor.ts";
import { parseEvent } from "./event.ts";

export const signerSchema = once(() =>
  z
    .object({
      approver: z.string().meta({ description: "Who consented.", examples: ["ana@acme.example"] }),
      authenticated: z
        .enum(["proxy", "jwt", "agent", "signature", "signature_unattended", "token", "claimed"])
        .nullable()
        .describe("How that is known: signed, by proxy, by its token, or claimed; null: the service itself."),
      key: z.string().nullable().describe("Id of the key that signed; null: not signed."),
    })
    .describe("Who consented, and how that is known."),
);
export type Signer = z.infer<ReturnType<typeof signerSchema>>;

/** Lists the consents in the entries of a change, oldest first. */
export const listSigners = (entries: readonly Parameters<typeof parseEvent>[0][]): Signer[] =>
  entries.map(parseEvent).flatMap(({ event_type, detail }) => {
    if (event_type !== "consent_decision" || detail.decision !== "approved") return [];
    // `EventDetail` declares only the members that `evolve` reads; those of the actor need a cast.
    const { authenticated = null } = detail as Partial<Actor>;
    return [{ approver: detail.approver ?? "", authenticated, key: detail.key ?? null }];
  });
