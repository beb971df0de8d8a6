import { useState } from "preact/hooks";
import type { ChatAnswer } from "../../core/api_types.ts";
import { post } from "../../core/api.ts";
import { useValue } from "../../core/hooks.tsx";
import { personName } from "../../core/session.ts";
import { Lines } from "../../parts/field.tsx";
import { Failure } from "../../parts/notice.tsx";

/** Shows a reply in the conversation. */
export type OnAnswer = (answer: ChatAnswer) => Promise<void>;

/** Takes a message and sends it. */
export function Ask({ onAnswer }: { onAnswer: OnAnswer }) {
  const name = useValue(personName);
  const [message, setMessage] = useState("");
  const [memory, setMemory] = useState(true);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const send = async () => {
    if (busy || message.trim() === "") return;
    setBusy(true);
    setError(undefined);
    try {
      const fields = { message, author: name || undefined, memory: memory ? undefined : "off" };
      const answer = await post<ChatAnswer>("api/chat", fields);
      setMessage("");
      await onAnswer(answer);
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <form
      class="ask"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Lines
        label="Message"
        hint="Enter sends, Shift and Enter begins a new line."
        rows={2}
        maxLength={8000}
        value={message}
        onValue={setMessage}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void send();
        }}
      />
      <Failure error={error} alert />
      <div class="buttons">
        <button type="submit" disabled={!busy && message.trim() === ""} aria-disabled={busy} aria-busy={busy}>
          {busy ? "Thinking…" : "Send"}
        </button>
        <label class="check">
          <input type="checkbox" checked={memory} onChange={() => setMemory(!memory)} /> Use memory, and remember this
        </label>
      </div>
    </form>
  );
}
