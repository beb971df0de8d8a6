/** A freeze of the service: nothing is applied until it is lifted or over. */
import * as z from "zod";

export const freezeSchema = z.object({
  actor: z.string(),
  note: z.string(),
  /** When it ends by itself; `null`: when somebody lifts it. */
  until: z.string().nullable(),
  at: z.string(),
});
/** `meta/freeze`, with the entry that tells of it. */
export type Freeze = z.infer<typeof freezeSchema> & { entry: number };

/** The freeze that is in force; `now` in milliseconds since the epoch. */
export const inForce = (freeze: Freeze | undefined, now: number): Freeze | undefined =>
  freeze && (freeze.until === null || now < Date.parse(freeze.until)) ? freeze : undefined;
