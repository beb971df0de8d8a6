import type { ChatAnswer } from "../../core/api_types.ts";
import { useState } from "preact/hooks";
import { post } from "../../core/api.ts";
import { counted } from "../../core/format.ts";
import { useValue } from "../../core/hooks.tsx";
import { changeHref, href } from "../../core/router.tsx";
import { personName } from "../../core/session.ts";
import { Failure } from "../../parts/notice.tsx";
import { Sign } from "../../parts/mark.tsx";
import { Given, Prose } from "../../parts/text.tsx";
import type { OnAnswer } from "./ask.tsx";
import { Recollections } from "./memory.tsx";

interface ProvenanceProps {
  answer: ChatAnswer;
  onAnswer: OnAnswer;
}

/** The memories that went into a reply, and the drafts that came of it. */
export const Provenance = ({ answer: { injected, memories, drafts }, onAnswer }: ProvenanceProps) => (
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
      <DraftCard key={draft.change_id ?? index} draft={draft} onAnswer={onAnswer} />
    ))}
  </div>
);

type Draft = ChatAnswer["drafts"][number];

/** A change that the model drafted and the reader may store as a proposal, or a task that it suggests. */
function DraftCard({ draft, onAnswer }: { draft: Draft; onAnswer: OnAnswer }) {
  const { kind, stored, draft_id, change_id, reason, content } = draft;
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
        ) : draft_id !== null ? (
          <ConfirmDraft draftId={draft_id} onAnswer={onAnswer} />
        ) : kind === "change" ? (
          <a href={href(["propose"], fields)}>Propose it as yours…</a>
        ) : (
          <a href={href(["tasks"], fields)}>Submit it as yours…</a>
        )}
      </p>
    </article>
  );
}

/** Stores a draft as a proposal; the service answers in the conversation. */
function ConfirmDraft({ draftId, onAnswer }: { draftId: string; onAnswer: OnAnswer }) {
  const name = useValue(personName);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const confirm = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await onAnswer(await post<ChatAnswer>("api/chat", { confirm_draft: draftId, author: name || undefined }));
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <>
      <button type="button" aria-disabled={busy} aria-busy={busy} onClick={() => void (busy || confirm())}>
        {busy ? "Storing…" : "Store as a proposal"}
      </button>
      <Failure error={error} alert />
    </>
  );
}
