/** Which change a proposal may take the place of. */
import type { Change } from "./change.ts";
import { samePlace } from "./same_target.ts";

type Place = Pick<Change, "tenant_id" | "target">;

/** Why a proposal cannot supersede a change; undefined where it can. What is not applied may be proposed again for another target. */
export function whyNotSuperseding(of: Place & Pick<Change, "status">, by: Place): string | undefined {
  if (of.tenant_id !== by.tenant_id) return "names a change of another tenant";
  if (of.status === "applied" && !samePlace(of, by))
    return `names a change that is applied to ${of.target}, whose place a change of another target cannot take`;
  return undefined;
}
