/** Limits of mandates as rules for values. */
import type { Reads } from "../../store/store.ts";
import type { MandateLimits } from "../rules/mandate.ts";
import type { TargetRule } from "../rules/target_rules.ts";
import { listSignedMandates } from "./read_mandate.ts";

/** Returns the limits of a mandate as a rule for values; targets are checked elsewhere. */
export const toTargetRule = ({ schema, max_step, unit }: MandateLimits): TargetRule => ({
  match: ["*"],
  schema,
  max_step,
  unit,
});

/** Lists the limits of an agent's signed mandates as rules; undefined if it has no mandate. */
export async function listLimits(reads: Pick<Reads, "get" | "list">, agent: string): Promise<TargetRule[] | undefined> {
  const ids = await listSignedMandates(reads, agent);
  if (ids.length === 0) return undefined;
  const mandates = await Promise.all(ids.map((id) => reads.get("mandates", id)));
  return mandates.flatMap((mandate) =>
    mandate?.value.bounds.limits ? [toTargetRule(mandate.value.bounds.limits)] : [],
  );
}
