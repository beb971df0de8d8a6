/** Converts the limits of mandates into rules like those of an intent, so that the same code judges values by both. */
import type { Reads } from "../../store/store.ts";
import type { MandateLimits } from "../rules/mandate.ts";
import type { TargetRule } from "../rules/target_rules.ts";
import { listSignedMandates } from "./read_mandate.ts";

/** Returns the limits of a mandate as a rule for all targets; the bounds of the mandate restrict the targets. */
export const createLimitRule = ({ schema, max_step, unit }: MandateLimits): TargetRule => ({
  match: ["*"],
  schema,
  max_step,
  unit,
});

/** Lists the limits of an agent's signed mandates as rules; undefined if it has no mandate. */
export async function listLimitRules(
  reads: Pick<Reads, "get" | "list">,
  agent: string,
): Promise<TargetRule[] | undefined> {
  const ids = await listSignedMandates(reads, agent);
  if (ids.length === 0) return undefined;
  const mandates = await Promise.all(ids.map((id) => reads.get("mandates", id)));
  return mandates.flatMap((mandate) =>
    mandate?.value.bounds.limits ? [createLimitRule(mandate.value.bounds.limits)] : [],
  );
}
