/** The buttons of a form, the state of its request, and its idempotency keys. */
import { Button } from "./button.tsx";
import { useRef, useState } from "preact/hooks";
import { type Fields, findFieldFault, newKey } from "../core/api.ts";

/** Submit and cancel buttons of a form. A busy submit button is not `disabled`, since it would lose the focus. */
export const FormButtons = ({
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
    {onClose && <Button class="secondary" onClick={onClose} disabled={busy} label="Cancel" />}
  </footer>
);

/** Sends a form's request once at a time; returns whether it is busy, its error, and the error of each field. */
export function useSubmit(request: () => Promise<unknown>, onDone: () => void) {
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
  return { send, busy, error, faultOf: (field: string) => findFieldFault(error, field) };
}

/** Returns a function that gives equal fields the same idempotency key, so that a request sent again is not done twice. */
export function useIdempotencyKeys(): (fields: Fields) => string {
  const sent = useRef(new Map<string, string>());
  return (fields) => {
    const body = JSON.stringify(fields);
    const key = sent.current.get(body) ?? newKey();
    sent.current.set(body, key);
    return key;
  };
}
