/** The schema of a row of the capability map. */
import * as z from "zod";

/** An ability of the service; if it is missing, with the reason and the option that enables it (`enable_with`). */
export const capabilitySchema = z
  .object({
    id: z.string().meta({ description: "What it is.", examples: ["product_adapter"] }),
    group: z.string().meta({ description: "Area.", examples: ["product"] }),
    status: z.enum(["available", "degraded", "disabled", "failing"]).describe("Whether it works here."),
    reason: z
      .string()
      .nullable()
      .meta({ description: "Why it does not; null when it does.", examples: ["no adapter is configured"] }),
    enable_with: z
      .string()
      .nullable()
      .meta({
        description: "The option that switches it on; null when it is on.",
        examples: ["--product-config PATH"],
      }),
  })
  .describe("A capability of the service, or why it is missing here.");
export type Capability = z.infer<typeof capabilitySchema>;
