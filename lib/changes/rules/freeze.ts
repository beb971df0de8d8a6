/** A freeze of the service: nothing is applied until a person lifts the freeze or it ends. */
import * as z from "zod";
import { once } from "../../kit/once.ts";

export const freezeSchema = once(() =>
  z
    .object({
      actor: z.string().meta({ description: "Who froze the service.", examples: ["ops@acme.example"] }),
      note: z.string().meta({ description: "Why.", examples: ["Quarter end"] }),
      until: z
        .string()
        .nullable()
        .meta({
          description: "End (RFC 3339); null: until a person lifts it.",
          examples: ["2027-01-02T08:00:00.000Z"],
        }),
      at: z.string().meta({ description: "Since when.", examples: ["2026-12-23T17:00:00.000Z"] }),
    })
    .describe("A freeze: every apply is held back but for emergencies."),
);
/** `meta/freeze`, with the id of its entry. */
export type Freeze = z.infer<ReturnType<typeof freezeSchema>> & { entry: number };
