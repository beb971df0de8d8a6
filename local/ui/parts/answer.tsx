/** A chat answer of the service, with its sources and drafts. */
import { useState } from "preact/hooks";
import type { ChatAnswer } from "../core/api_types.ts";
import { post } from "../core/api.ts";
import { formatCount } from "../core/format.ts";
import { changeHref, href } from "../core/router.tsx";
import { personName } from "../core/session.ts";
import { listNamedQueries } from "../domain/find_answer.ts";
import { Failure } from "./notice.tsx";
import { SubmitButton, useSubmit } from "./form_submit.tsx";
import { UserText, Prose, ShortId } from "./text.tsx";

export const askService = (fields: Record<string, string>): Promise<ChatAnswer> =>
  post<ChatAnswer>("api/chat", { ...fields, author: personName.get() || undefined });

export const Answer = ({ of: { reply, memories, drafts } }: { of: ChatAnswer }) => (
  <section aria-label="Answer" aria-live="polite">
    <p class="quiet">{reply.mode === "llm" ? "The model, unverified:" : "The service, by rules:"}</p>
    <Prose text={reply.text} />
    <p class="citations">
      {listNamedQueries(reply.text).map((query) => (
        <a key={query} href={href(["changes"], { q: query })}>
          <UserText text={query} code />
        </a>
      ))}
      {reply.citations
        .filter(({ id }) => id.startsWith("chg_"))
        .map(({ id }) => (
          <a key={id} href={changeHref(id)}>
            change <ShortId of={id} />
          </a>
        ))}
    </p>
    {memories.length > 0 && (
      <details>
        <summary>{formatCount(memories.length, "memory was", "memories were")} used</summary>
        {memories.map(({ id, text }) => (
          <Prose key={id} text={text} />
        ))}
      </details>
    )}
    {drafts.map((draft, index) => (
      <Draft key={index} of={draft} />
    ))}
  </section>
);

/** A draft of a change or a task; a drafted change is stored as a proposal, or proposed under the reader's name. */
function Draft({ of }: { of: ChatAnswer["drafts"][number] }) {
  const [{ kind, stored, draft_id, change_id, reason, content }, setShown] = useState(of);
  const fields = Object.fromEntries(
    Object.entries(content).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  );
  const isConfirmable = draft_id !== null;
  const { send, busy, error } = useSubmit(async () => {
    if (!isConfirmable) return post("api/tasks", fields);
    const [confirmed] = (await askService({ confirm_draft: draft_id })).drafts;
    if (confirmed) setShown(confirmed);
  });
  return (
    <article class="draft">
      <p>
        <strong>{kind === "change" ? "Drafted change" : "Suggested task"}</strong>{" "}
        <UserText text={fields["summary"] ?? fields["title"] ?? fields["target"] ?? ""} />
      </p>
      {[fields["rationale"], reason].map((text) => text && <Prose key={text} text={text} />)}
      {stored && change_id ? (
        <a href={changeHref(change_id)}>Read it and decide</a>
      ) : !isConfirmable && kind === "change" ? (
        <a href={href(["propose"], fields)}>Propose it as yours…</a>
      ) : (
        <form onSubmit={send}>
          <Failure error={error} alert />
          <SubmitButton verb={kind === "change" ? "Store as a proposal" : "Submit the task"} busy={busy} />
        </form>
      )}
    </article>
  );
}
