/** Asks the service in words, and shows what each answer was made of. Answers stay for as long as the tab is open. */
import { useState } from "preact/hooks";
import type { ChatAnswer } from "../core/api_types.ts";
import { post } from "../core/api.ts";
import { counted } from "../core/format.ts";
import { useTitle, useValue } from "../core/hooks.tsx";
import { changeHref, href } from "../core/router.tsx";
import { personName } from "../core/session.ts";
import { value } from "../core/value.ts";
import { listQueries } from "../domain/find_answer.ts";
import { Lines } from "../parts/field.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { Given, Prose, ShortId } from "../parts/text.tsx";
import { DialogEnd, useSending } from "../parts/sending.tsx";
import { Failure } from "../parts/notice.tsx";

/** Answers of this tab, newest first. */
const answers = value<readonly { question: string; answer: ChatAnswer }[]>([]);

/** The page. */
export function AskPage() {
  const name = useValue(personName);
  const shown = useValue(answers);
  const [message, setMessage] = useState("");
  useTitle("Ask");
  const ask = async (fields: Record<string, string>, question: string) => {
    const answer = await post<ChatAnswer>("api/chat", { ...fields, author: name || undefined });
    answers.set([{ question, answer }, ...answers.get()]);
  };
  const { send, busy, error } = useSending(
    () => ask({ message }, message),
    () => setMessage(""),
  );
  return (
    <>
      <PageHead
        title="Ask"
        lead="Answers come from the records and name them. Nothing is approved, applied or rolled back from here."
      />
      <form class="ask" onSubmit={send}>
        <Lines
          label="Message"
          hint="What waits, why a change was made, how the KPIs stand. Enter sends, Shift and Enter begins a new line."
          rows={2}
          maxLength={8000}
          required
          value={message}
          onValue={setMessage}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            (event.currentTarget as HTMLTextAreaElement).form!.requestSubmit();
          }}
        />
        <Failure error={error} alert />
        <DialogEnd verb="Send" busy={busy} />
      </form>
      <div aria-live="polite">
        {shown.map(({ question, answer }) => (
          <Panel
            key={answer.reply.id}
            title={answer.reply.mode === "llm" ? "The model, unverified" : "The service, by rules"}
          >
            <blockquote>
              <Prose text={question} />
            </blockquote>
            <Answer of={answer} onConfirm={(draft) => ask({ confirm_draft: draft }, "Store the draft.")} />
          </Panel>
        ))}
      </div>
    </>
  );
}

function Answer({ of, onConfirm }: { of: ChatAnswer; onConfirm: (draft: string) => Promise<void> }) {
  const { reply, memories, drafts } = of;
  return (
    <>
      <Prose text={reply.text} />
      <p class="citations">
        {listQueries(reply.text).map((query) => (
          <a key={query} href={href(["changes"], { q: query })}>
            <Given text={query} code />
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
          <summary>{counted(memories.length, "memory was", "memories were")} used</summary>
          <ul>
            {memories.map(({ id, text }) => (
              <li key={id}>
                <Prose text={text} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {drafts.map((draft, index) => (
        <Draft key={draft.change_id ?? index} draft={draft} onConfirm={onConfirm} />
      ))}
    </>
  );
}

/** A draft of the model: a change to store as a proposal or to propose in the reader's own name, or a task. */
function Draft({
  draft: { kind, stored, draft_id, change_id, reason, content },
  onConfirm,
}: {
  draft: ChatAnswer["drafts"][number];
  onConfirm: (draft: string) => Promise<void>;
}) {
  const fields = Object.fromEntries(
    Object.entries(content).map(([name, given]) => [name, typeof given === "string" ? given : JSON.stringify(given)]),
  );
  const { send, busy, error } = useSending(
    () => (draft_id === null ? post("api/tasks", fields) : onConfirm(draft_id)),
    () => {},
  );
  return (
    <article class="draft">
      <p>
        <strong>{kind === "change" ? "Drafted change" : "Suggested task"}</strong>{" "}
        <Given text={fields["summary"] ?? fields["title"] ?? fields["target"] ?? ""} />
      </p>
      {fields["rationale"] && <Prose text={fields["rationale"]} />}
      {reason !== null && <Prose text={reason} />}
      {stored && change_id ? (
        <a href={changeHref(change_id)}>Read it and decide</a>
      ) : draft_id === null && kind === "change" ? (
        <a href={href(["propose"], fields)}>Propose it as yours…</a>
      ) : (
        <form onSubmit={send}>
          <Failure error={error} alert />
          <DialogEnd verb={kind === "change" ? "Store as a proposal" : "Submit the task"} busy={busy} />
        </form>
      )}
    </article>
  );
}
