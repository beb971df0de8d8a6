import type { ChatAnswer } from "../../core/api_types.ts";
import { counted } from "../../core/format.ts";
import { changeHref, href } from "../../core/router.tsx";
import { Sign } from "../../parts/mark.tsx";
import { Given, Prose } from "../../parts/text.tsx";
import { Recollections } from "./memory.tsx";

/** What went into a reply, and what came out of it beside words. */
export const Provenance = ({ answer: { injected, memories, drafts } }: { answer: ChatAnswer }) => (
  <div class="provenance">
    <p class="quiet">
      <Sign shape={injected ? "full" : "ring"} />{" "}
      {injected
        ? `${counted(memories.length, "memory was", "memories were")} given to this reply.`
        : "No memory was given to this reply."}
    </p>
    {memories.length > 0 && (
      <details>
        <summary>Which ones</summary>
        <Recollections of={memories} />
      </details>
    )}
    {drafts.map((draft, index) => (
      <DraftCard key={draft.change_id ?? index} draft={draft} />
    ))}
  </div>
);

type Draft = ChatAnswer["drafts"][number];

/** What a model drafted: a change that waits like any other, or a suggestion that somebody has to make their own. */
function DraftCard({ draft: { kind, stored, change_id, reason, content } }: { draft: Draft }) {
  const fields = Object.fromEntries(
    Object.entries(content).map(([name, given]) => [name, typeof given === "string" ? given : JSON.stringify(given)]),
  );
  return (
    <article class="draft">
      <p>
        <strong>{kind === "change" ? "Drafted change" : "Suggested task"}</strong>{" "}
        <Given text={fields["summary"] ?? fields["title"] ?? fields["target"] ?? ""} />
      </p>
      {fields["rationale"] && <Prose text={fields["rationale"]} />}
      {reason !== null && (
        <p class="quiet">
          <Given text={reason} />
        </p>
      )}
      <p>
        {stored && change_id ? (
          <a href={changeHref(change_id)}>Read it and decide</a>
        ) : kind === "change" ? (
          <a href={href(["propose"], fields)}>Propose it as yours…</a>
        ) : (
          <a href={href(["tasks"], fields)}>Submit it as yours…</a>
        )}
      </p>
    </article>
  );
}
