/** The limits of mandates as rules of values. */
import type { Reads } from "../../store/store.ts";
import type { MandateLimits } from "../rules/mandate.ts";
import type { TargetRule } from "../rules/target_rules.ts";
import { listSignedMandates } from "./read_mandate.ts";

/** A rule that judges values as the limits of a mandate do; its targets are judged elsewhere. */
export const toTargetRule = ({ schema, max_step, unit }: MandateLimits): TargetRule => ({
  match: ["*"],
  schema,
  max_step,
  unit,
});

/** Lists the limits of an agent's signed mandates as rules; undefined where it has no mandate. */
export async function listLimits(reads: Pick<Reads, "get" | "list">, agent: string): Promise<TargetRule[] | undefined> {
  const ids = await listSignedMandates(reads, agent);
  if (ids.length === 0) return undefined;
  const mandates = await Promise.all(ids.map((id) => reads.get("mandates", id)));
  return mandates.flatMap((mandate) =>
    mandate?.value.bounds.limits ? [toTargetRule(mandate.value.bounds.limits)] : [],
  );
}
