import { get } from "../../core/api.ts";
import { useDebounced } from "../../core/hooks.tsx";
import { useResource } from "../../core/resource.tsx";
import type { Draft } from "../../domain/draft.ts";

interface ValuePage {
  values: { target: string; tenant_id: string; value?: unknown }[];
}

/** Returns the value that approved changes have set at the draft's target; `null`: nothing; undefined while that is not known. */
export function useCurrentValue({ tenant_id, target }: Draft): { value: unknown } | null | undefined {
  const query = { tenant_id: tenant_id.trim(), target: target.trim(), limit: 1 };
  const rested = useDebounced(JSON.stringify(query));
  const isComplete = rested === JSON.stringify(query) && query.tenant_id !== "" && query.target !== "";
  const { data } = useResource(isComplete && !query.target.includes("*") ? `value ${rested}` : null, (signal) =>
    get<ValuePage>("api/product/values", query, signal),
  );
  if (!data) return undefined;
  const [found] = data.values;
  return found && "value" in found ? { value: found.value } : null;
}
