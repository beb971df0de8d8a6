/** The capability map: what works here, and for what does not, why and what would switch it on. */
import * as z from "zod";
import type { Capability, Deps } from "../deps.ts";

export const capabilitySchema = z.object({
  id: z.string(),
  group: z.string(),
  status: z.enum(["available", "degraded", "disabled", "failing"]),
  reason: z.string().nullable(),
  enable_with: z.string().nullable(),
});

/** The capabilities of the service itself, then those the host adds. */
export async function capabilitiesOf({
  store,
  product,
  integrity,
  adminToken,
  capabilities = [],
}: Deps): Promise<Capability[]> {
  const off = product ? null : "no product intent is given";
  const failure =
    product?.adapter && (await store.get<{ last_error: string | null }>("meta", "adapter"))?.value.last_error;
  const { breach } = integrity;
  return [
    {
      id: "product_runtime",
      group: "product",
      status: product ? "available" : "disabled",
      reason: off,
      enable_with: product ? null : "--product-intent PATH",
    },
    {
      id: "product_adapter",
      group: "product",
      status: !product?.adapter ? "disabled" : failure ? "failing" : "available",
      reason: !product?.adapter ? "approved changes are recorded and not carried anywhere" : (failure ?? null),
      enable_with: product?.adapter ? null : "--product-config PATH",
    },
    {
      id: "audit_chain",
      group: "audit",
      status: breach ? "failing" : product ? "available" : "disabled",
      reason: breach ? `entry ${breach.first_invalid}: ${breach.reason}` : off,
      enable_with: product ? null : "--product-intent PATH",
    },
    {
      id: "admin_token",
      group: "access",
      status: adminToken ? "available" : "disabled",
      reason: adminToken ? null : "writes need no token",
      enable_with: adminToken ? null : "SVC_ADMIN_TOKEN",
    },
    ...capabilities,
  ];
}
