import { useEffect, useRef, useState } from "preact/hooks";
import type { AuditEntry, AuditPage, ChangeDetail } from "../../core/api_types.ts";
import { get } from "../../core/api.ts";
import { onNews } from "../../core/live.ts";
import { type Listed, readPage, withPage } from "../../domain/change_list.ts";

/** Entries that are looked at after a pause. */
const CAUGHT_UP = 1000;

/** The list as far as it was read. Rows that are shown follow the news; newer changes are counted and wait to be shown. */
export function useChanges() {
  const [listed, setListed] = useState<Listed | undefined>();
  const [error, setError] = useState<unknown>();
  const [fresh, setFresh] = useState(0);
  const [loading, setLoading] = useState(false);
  const [round, setRound] = useState(0);
  const state = useRef<{ listed: Listed | undefined; busy: boolean; signal: AbortSignal }>();

  const readMore = async () => {
    const own = state.current;
    if (!own || own.busy || (own.listed && own.listed.next === null)) return;
    own.busy = true;
    setLoading(true);
    try {
      const page = await readPage(own.listed?.next ?? undefined, own.signal);
      if (own !== state.current) return;
      own.listed = withPage(own.listed, page);
      setListed(own.listed);
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
    void readMore();
    const hear = (entries: readonly AuditEntry[]) => {
      const own = state.current;
      const news = entries.filter(({ id }) => id > (own?.listed?.heard ?? Infinity));
      if (!own?.listed || news.length === 0) return;
      own.listed = { ...own.listed, heard: news.at(-1)!.id };
      const proposed = news.filter(({ event_type }) => event_type === "change_proposed").length;
      if (proposed > 0) setFresh((count) => count + proposed);
      for (const id of new Set(news.map(({ change_id }) => change_id))) void follow(id);
    };
    /** What happened since, as the log has it; news may have been missed. */
    const catchUp = async () => {
      const own = state.current;
      if (!own?.listed) return readMore();
      const since = { after: own.listed.heard, limit: CAUGHT_UP };
      const page = await get<AuditPage>("api/product/audit", since, gone.signal).catch(() => undefined);
      if (page && own === state.current) hear(page.entries);
    };
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
      if (news === null) void catchUp();
      else if (news.type === "audit") {
        if (news.data.id === (state.current?.listed?.heard ?? 0) + 1) hear([news.data]);
        else void catchUp();
      }
    });
    return () => {
      gone.abort();
      off();
    };
  }, [round]);

  return { listed, error, fresh, loading, readMore: () => void readMore(), again: () => setRound(round + 1) };
}
