import { useState } from "preact/hooks";
import type { Recalled } from "../../core/api_types.ts";
import { get } from "../../core/api.ts";
import { useValue } from "../../core/hooks.tsx";
import { useResource } from "../../core/resource.tsx";
import { changeHref } from "../../core/router.tsx";
import { personName } from "../../core/session.ts";
import { Line } from "../../parts/field.tsx";
import { Pending } from "../../parts/notice.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Given, Prose } from "../../parts/text.tsx";
import { Age } from "../../parts/time.tsx";

/** Looks something up in what the service remembers, of chat only in the person's own conversation. */
export function Memory() {
  const name = useValue(personName);
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  const { data, error } = useResource(asked === "" ? null : `memory of ${name} ${asked}`, (signal) =>
    get<{ results: Recalled[] }>("api/memory/search", { q: asked, limit: 20, author: name || undefined }, signal),
  );
  return (
    <Panel title="Memory">
      <p class="quiet">Proposals, decisions, outcomes, verdicts, ratings, KPIs, and what you said in chat.</p>
      <form
        class="filters"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(text.trim());
        }}
      >
        <Line label="What do you remember of" type="search" value={text} onValue={setText} />
        <button type="submit" class="secondary">
          Search
        </button>
      </form>
      {asked !== "" && !data && <Pending error={error} what="memories" />}
      {asked !== "" &&
        data &&
        (data.results.length === 0 ? (
          <p class="quiet">Nothing is remembered of this.</p>
        ) : (
          <Recollections of={data.results} />
        ))}
    </Panel>
  );
}

/** Memories, each with its kind and what it is about. */
export const Recollections = ({ of }: { of: readonly Recalled[] }) => (
  <ul class="plain recollections">
    {of.map(({ id, kind, basis, author, text, at, ref }) => (
      <li key={id}>
        <Prose text={text} />
        <p class="row-meta quiet">
          <span>{basis === "said" ? `${kind}, unverified` : kind}</span>
          {author !== null && (
            <span>
              by <Given text={author} />
            </span>
          )}
          <Age at={at} />
          {ref?.startsWith("chg_") && <a href={changeHref(ref)}>the change</a>}
        </p>
      </li>
    ))}
  </ul>
);
