/** The target systems that a mandate reaches, as its signers see them. */
import type { ProductAdapter } from "../operations/adapter_port.ts";
import type { MandateBounds } from "../rules/mandate.ts";
import type { MandateSystem } from "../rules/mandate_record.ts";

/** Lists the configured target systems: name, address and templates of each. */
export function listSystems(adapter: ProductAdapter | undefined): MandateSystem[] {
  if (!adapter) return [];
  const configured = (adapter.configuration?.systems ?? []) as MandateSystem[];
  const names = adapter.systems?.map(({ name }) => name) ?? [adapter.name];
  return names.map((name) => configured.find((system) => system.name === name) ?? { name });
}

/** Lists the systems that the targets of a mandate reach: all of them if the adapter does not say. */
export function listReachedSystems(
  adapter: ProductAdapter | undefined,
  { targets, kinds, tenants }: Pick<MandateBounds, "targets" | "kinds" | "tenants">,
): MandateSystem[] {
  const reached = adapter?.reach?.({ targets, kinds, tenants });
  return listSystems(adapter).filter(({ name }) => !reached || reached.includes(name));
}
