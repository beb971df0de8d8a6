import type { ChangeDetail } from "../../core/api_types.ts";
import { get } from "../../core/api.ts";
import { useResource } from "../../core/resource.tsx";
import { Pending } from "../../parts/notice.tsx";
import { HeldNow } from "../change/host_look.tsx";

/** The consented value of a change by its id, and what its target holds now. */
export function OutsideValue({ id }: { id: string }) {
  const path = `api/product/changes/${encodeURIComponent(id)}`;
  const { data, error } = useResource(`drifted ${id}`, (signal) => get<ChangeDetail>(path, {}, signal));
  return data ? <HeldNow change={data} /> : <Pending error={error} what="both values" />;
}
