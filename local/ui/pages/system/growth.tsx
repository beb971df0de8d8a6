import { useState } from "preact/hooks";
import type { ActivityRow } from "../../core/api_types.ts";
import { get } from "../../core/api.ts";
import { useResource } from "../../core/resource.tsx";
import { changeHref } from "../../core/router.tsx";
import { words } from "../../domain/statuses.ts";
import { Pending } from "../../parts/notice.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Given } from "../../parts/text.tsx";
import { Moment } from "../../parts/time.tsx";

interface GrowthPage {
  entries: ActivityRow[];
  next: number | null;
}

const MORE = 30;

/** What the service noticed, in sentences. */
export function GrowthLog() {
  const [limit, setLimit] = useState(10);
  const { data, error } = useResource(`log ${limit}`, (signal) => get<GrowthPage>("api/log", { limit }, signal));
  return (
    <Panel title="Growth log">
      {!data && <Pending error={error} what="the log" />}
      {data && data.entries.length === 0 && <p class="quiet">Nothing was noticed yet.</p>}
      {data && (
        <ol class="plain growth">
          {data.entries.map(({ seq, at, kind, title, detail, ref }) => (
            <li key={seq}>
              <span class="quiet">
                <Moment at={at} />
              </span>
              <div>
                {ref?.startsWith("chg_") ? (
                  <a href={changeHref(ref)}>
                    <Given text={title} />
                  </a>
                ) : (
                  <Given text={title} />
                )}
                {detail !== "" && (
                  <p class="quiet">
                    <Given text={detail} />
                  </p>
                )}
              </div>
              <span class="quiet kind">{words(kind)}</span>
            </li>
          ))}
        </ol>
      )}
      {data && data.next !== null && limit < 500 && (
        <button type="button" class="secondary small" onClick={() => setLimit(Math.min(500, limit + MORE))}>
          Show more
        </button>
      )}
    </Panel>
  );
}
