/** Forms in dialogs: on their way, refused, done. */
import { useState } from "preact/hooks";
import { Refused } from "../core/api.ts";

/** The end of a form in a dialog: do it, or leave. */
export const DialogEnd = ({
  verb,
  busy,
  onClose,
  disabled = false,
}: {
  verb: string;
  busy: boolean;
  onClose: () => void;
  disabled?: boolean;
}) => (
  <footer>
    <button type="submit" disabled={busy || disabled} aria-busy={busy}>
      {busy ? "Sending…" : verb}
    </button>
    <button type="button" class="secondary" onClick={onClose} disabled={busy}>
      Cancel
    </button>
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
    request().then(onDone, (failure: unknown) => {
      setError(failure);
      setBusy(false);
    });
  };
  const fields = error instanceof Refused ? (error.refusal.fields ?? []) : [];
  return { send, busy, error, faultOf: (field: string) => fields.find((one) => one.field === field)?.message };
}
