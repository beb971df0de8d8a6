import * as z from "zod";
import type { ProductAdapter } from "./adapters/port.ts";
import type { Intent } from "./rules/intent.ts";

/** Which product this instance governs, and which instance it is. */
export const identitySchema = z.object({
  product_id: z.string(),
  instance_id: z.string(),
  node_id: z.string(),
  binding_mode: z.literal("one_product_one_svc"),
});
export type Identity = z.infer<typeof identitySchema>;

/** What `--product-intent` switches on. */
export interface ProductRuntime {
  intent: Intent;
  /** The manifest's canonical JSON text, and its SHA-256. */
  manifest: string;
  manifest_hash: string;
  identity: Identity;
  adapter?: ProductAdapter;
}
