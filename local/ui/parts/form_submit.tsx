/** The submit button of a form, the state of its request, and its idempotency keys. */
import { useRef, useState } from "preact/hooks";
import { type Fields, findFieldFault, newKey } from "../core/api.ts";

/** The submit button of a form. While busy it is not `disabled`, since it would lose the focus. */
export const SubmitButton = ({ verb, busy }: { verb: string; busy: boolean }) => (
  <footer>
    <button type="submit" aria-disabled={busy} aria-busy={busy}>
      {busy ? "Sending…" : verb}
    </button>
  </footer>
);

/** Sends a request unless one is under way already; returns the request's error, also by field, and `busy`. */
export function useSubmit(request: () => Promise<unknown>) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const send = (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(undefined);
    void request()
      .catch(setError)
      .finally(() => setBusy(false));
  };
  const faultOf = (field: string) => findFieldFault(error, field);
  return { send, busy, error, faultOf, clearError: () => setError(undefined) };
}

/** Returns a function that gives equal fields the same idempotency key, so that a repeated request is not done twice. */
export function useIdempotencyKeys(): (fields: Fields) => string {
  const sent = useRef(new Map<string, string>());
  return (fields) => {
    const body = JSON.stringify(fields);
    const key = sent.current.get(body) ?? newKey();
    sent.current.set(body, key);
    return key;
  };
}
