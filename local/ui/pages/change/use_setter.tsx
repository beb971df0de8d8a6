/** The earlier change whose value a target has. */
import { useMemo } from "preact/hooks";
import { canonicalJson } from "../../../../lib/kit/canonical_json.ts";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import type { Change, ChangeDetail } from "../../core/api_types.ts";
import { useHistory } from "../../domain/change_history.ts";

/** Finds another change on the target whose value has the digest. Undefined while the history is read; `by` is undefined if none is found. */
export function useSetter(change: ChangeDetail, digest: string | undefined): { by: Change | undefined } | undefined {
  const { data: history, error } = useHistory(change);
  return useMemo(() => {
    if (!(history ?? error)) return undefined;
    const hasSet = ({ change_id, value }: Change) =>
      change_id !== change.change_id && value !== undefined && portableSha256(canonicalJson(value)) === digest;
    return { by: history?.find(hasSet) };
  }, [history, error, digest]);
}
