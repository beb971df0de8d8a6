/** The product runtime: the product, its intent, and the adapter to its target systems. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import type { ProductAdapter } from "./operations/adapter_port.ts";
import type { Intent } from "./rules/intent.ts";

/** The product that this instance governs, and the names of the instance. */
export const identitySchema = once(() =>
  z
    .object({
      product_id: z.string().meta({ description: "The product, as its intent names it.", examples: ["acme-crm"] }),
      instance_id: z.string().meta({ description: "This instance of the service.", examples: ["local"] }),
      node_id: z.string().meta({ description: "The node that it runs on.", examples: ["local"] }),
      binding_mode: z.literal("one_product_one_svc").describe("An instance governs one product and no other."),
    })
    .describe("Which product this instance governs, and which instance it is."),
);
export type Identity = z.infer<ReturnType<typeof identitySchema>>;

/** Present if the service was started with `--product-intent`. */
export interface ProductRuntime {
  /** The rules in force. */
  intent: Intent;
  /** Canonical JSON text of the intent. */
  manifest: string;
  /** SHA-256 of `manifest`. */
  manifest_hash: string;
  /** The product that the intent names, and this instance. */
  identity: Identity;
  /** Access to the target systems; if absent, an apply is only recorded. */
  adapter?: ProductAdapter;
}
