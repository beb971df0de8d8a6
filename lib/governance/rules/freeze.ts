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
