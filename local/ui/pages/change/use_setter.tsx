import { useEffect, useState } from "preact/hooks";
import { canonicalJson } from "../../../../lib/kit/canonical_json.ts";
import type { Change, ChangeDetail } from "../../core/api_types.ts";
import { useResource } from "../../core/resource.tsx";
import { canHash, toHex, sha256 } from "../../core/sha256.ts";
import { readHistory } from "../../domain/change_history.ts";

/** Finds the change on a target whose value has a digest, and nothing less; undefined while it is looked for, `by` undefined where none is known. */
export function useSetter(change: ChangeDetail, digest: string | undefined): { by: Change | undefined } | undefined {
  const read = (signal: AbortSignal) => readHistory(change, signal);
  const { data: history, error } = useResource(`history ${change.change_id}`, read);
  const [found, setFound] = useState<{ by: Change | undefined } | undefined>();
  useEffect(() => {
    let gone = false;
    const find = async (): Promise<Change | undefined> => {
      for (const one of history ?? [])
        if (one.change_id !== change.change_id && one.value !== undefined && canHash())
          if (toHex(await sha256(canonicalJson(one.value))) === digest) return one;
      return undefined;
    };
    if (history ?? error) void find().then((by) => gone || setFound({ by }));
    return () => void (gone = true);
  }, [history, error, digest]);
  return found;
}
