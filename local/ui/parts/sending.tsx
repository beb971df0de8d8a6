/** Forms in dialogs: on their way, refused, done. */
import { useRef, useState } from "preact/hooks";
import { type Fields, newKey, Refused } from "../core/api.ts";

/** The end of a form in a dialog: do it, or leave. A button that is busy keeps the focus, which one that is disabled loses. */
export const DialogEnd = ({
  verb,
  busy,
  onClose,
  disabled = false,
}: {
  verb: string;
  busy: boolean;
  /** Absent where the form is part of a page. */
  onClose?: () => void;
  disabled?: boolean;
}) => (
  <footer>
    <button type="submit" disabled={disabled} aria-disabled={busy} aria-busy={busy}>
      {busy ? "Sending…" : verb}
    </button>
    {onClose && (
      <button type="button" class="secondary" onClick={onClose} disabled={busy}>
        Cancel
      </button>
    )}
  </footer>
);

/** A form on its way: busy, refused, done. */
export function useSending(request: () => Promise<unknown>, onDone: () => void) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const send = (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(undefined);
    void request()
      .then(onDone, setError)
      .finally(() => setBusy(false));
  };
  const fields = error instanceof Refused ? (error.refusal.fields ?? []) : [];
  return { send, busy, error, faultOf: (field: string) => fields.find((one) => one.field === field)?.message };
}

/** A request that is sent again with the same content keeps its key, so that it is not done twice. */
export function useKeys(): (fields: Fields) => string {
  const sent = useRef(new Map<string, string>());
  return (fields) => {
    const body = JSON.stringify(fields);
    const key = sent.current.get(body) ?? newKey();
    sent.current.set(body, key);
    return key;
  };
}
