import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

interface Labelled {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
}

/** A labelled control with its hint and its error, tied together for those who do not see them. */
function Labelled({ label, hint, error, children }: Labelled & { children: (ids: Ids) => ComponentChildren }) {
  const id = useId();
  const said = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, ...(said ? { "aria-describedby": said } : {}), ...(error ? { "aria-invalid": "true" } : {}) })}
      {hint && (
        <small id={`${id}-hint`} class="quiet">
          {hint}
        </small>
      )}
      {error && (
        <small id={`${id}-error`} class="error">
          {error}
        </small>
      )}
    </div>
  );
}

interface Ids {
  id: string;
  "aria-describedby"?: string;
  "aria-invalid"?: "true";
}

type Given<E extends HTMLElement> = Labelled &
  Omit<JSX.HTMLAttributes<E>, "label" | "onInput" | "value"> & {
    value: string;
    onValue: (value: string) => void;
    /** Takes the focus when its dialog opens. */
    first?: boolean;
  };

/** One line of text. */
export function Line({
  label,
  hint,
  error,
  value,
  onValue,
  first,
  ...rest
}: Given<HTMLInputElement> &
  Pick<
    JSX.InputHTMLAttributes<HTMLInputElement>,
    "type" | "inputMode" | "autocomplete" | "maxLength" | "required" | "list" | "name" | "placeholder"
  >) {
  return (
    <Labelled label={label} hint={hint} error={error}>
      {(ids) => (
        <input
          {...rest}
          {...ids}
          dir="auto"
          value={value}
          data-first={first}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
    </Labelled>
  );
}

/** Several lines of text. */
export function Lines({
  label,
  hint,
  error,
  value,
  onValue,
  first,
  ...rest
}: Given<HTMLTextAreaElement> &
  Pick<JSX.TextareaHTMLAttributes<HTMLTextAreaElement>, "rows" | "maxLength" | "required" | "name" | "placeholder">) {
  return (
    <Labelled label={label} hint={hint} error={error}>
      {(ids) => (
        <textarea
          {...rest}
          {...ids}
          dir="auto"
          value={value}
          data-first={first}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
    </Labelled>
  );
}

/** One of a few words. */
export function Choice({
  label,
  hint,
  error,
  value,
  onValue,
  options,
}: Labelled & { value: string; onValue: (value: string) => void; options: readonly (readonly [string, string])[] }) {
  return (
    <Labelled label={label} hint={hint} error={error}>
      {(ids) => (
        <select {...ids} value={value} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
          {options.map(([given, shown]) => (
            <option key={given} value={given}>
              {shown}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}
