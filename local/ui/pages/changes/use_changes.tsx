import { useEffect, useRef, useState } from "preact/hooks";
import type { ChangeDetail } from "../../core/api_types.ts";
import { get } from "../../core/api.ts";
import { onNews } from "../../core/live.ts";
import { type Filter, type Listed, readOn } from "../../domain/change_list.ts";

/** Milliseconds that typing rests before the service is asked. */
const TYPING_MS = 200;

/** The list as far as it was read. Rows that are shown follow the news; newer changes are counted and wait to be shown. */
export function useChanges(filter: Filter) {
  const [listed, setListed] = useState<Listed | undefined>();
  const [error, setError] = useState<unknown>();
  const [fresh, setFresh] = useState(0);
  const [loading, setLoading] = useState(false);
  const [round, setRound] = useState(0);
  const state = useRef<{ listed: Listed | undefined; busy: boolean; signal: AbortSignal }>();
  const begun = useRef(false);

  const readMore = async () => {
    const own = state.current;
    if (!own || own.busy || (own.listed && own.listed.next === null)) return;
    own.busy = true;
    setLoading(true);
    try {
      const read = await readOn(filter, own.listed, own.signal);
      if (own !== state.current) return;
      own.listed = read;
      setListed(read);
      setError(undefined);
    } catch (failure) {
      if (!own.signal.aborted) setError(failure);
    } finally {
      own.busy = false;
      if (own === state.current) setLoading(false);
    }
  };

  useEffect(() => {
    const gone = new AbortController();
    state.current = { listed: undefined, busy: false, signal: gone.signal };
    setListed(undefined);
    setFresh(0);
    const timer = setTimeout(() => void readMore(), begun.current ? TYPING_MS : 0);
    begun.current = true;
    const follow = async (changeId: string) => {
      const own = state.current;
      const known = own?.listed?.changes.some(({ change_id }) => change_id === changeId);
      if (!own?.listed || !known) return;
      const path = `api/product/changes/${encodeURIComponent(changeId)}`;
      const detail = await get<ChangeDetail>(path, {}, gone.signal).catch(() => undefined);
      if (!detail || own !== state.current) return;
      const changes = own.listed.changes.map((one) => (one.change_id === changeId ? detail : one));
      own.listed = { ...own.listed, changes };
      setListed(own.listed);
    };
    const off = onNews((news) => {
      if (news === null) {
        if (state.current?.listed === undefined) void readMore();
      } else if (news.type === "audit") {
        if (news.data.event_type === "change_proposed") setFresh((count) => count + 1);
        else if (news.data.change_id !== "") void follow(news.data.change_id);
      }
    });
    return () => {
      gone.abort();
      clearTimeout(timer);
      off();
    };
  }, [filter.status, filter.tenant_id, round]);

  return { listed, error, fresh, loading, readMore: () => void readMore(), again: () => setRound(round + 1) };
}
