import * as z from "zod";

/** One thing the service can do, or why it cannot here; `enable_with` is the option that switches it on. */
export const capabilitySchema = z.object({
  id: z.string(),
  group: z.string(),
  status: z.enum(["available", "degraded", "disabled", "failing"]),
  reason: z.string().nullable(),
  enable_with: z.string().nullable(),
});
export type Capability = z.infer<typeof capabilitySchema>;
