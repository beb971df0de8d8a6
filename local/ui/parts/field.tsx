import { type ComponentChildren, h, type JSX } from "preact";
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

/** A control for text, which takes the direction of what is typed. */
const textControl = (
  tag: "input" | "textarea",
  { label, hint, error, value, onValue, first, ...rest }: Given<HTMLInputElement> | Given<HTMLTextAreaElement>,
) => (
  <Labelled label={label} hint={hint} error={error}>
    {(ids) => {
      const onInput = ({ currentTarget }: { currentTarget: { value: string } }) => onValue(currentTarget.value);
      return h(tag as string, { ...rest, ...ids, dir: "auto", value, "data-first": first, onInput });
    }}
  </Labelled>
);

type Attributes = JSX.InputHTMLAttributes<HTMLInputElement>;

/** One line of text. */
export const Line = (
  props: Given<HTMLInputElement> &
    Pick<
      Attributes,
      "type" | "inputMode" | "autocomplete" | "maxLength" | "required" | "list" | "name" | "placeholder"
    >,
) => textControl("input", props);

/** Several lines of text. */
export const Lines = (
  props: Given<HTMLTextAreaElement> &
    Pick<JSX.TextareaHTMLAttributes<HTMLTextAreaElement>, "rows" | "maxLength" | "required" | "name" | "placeholder">,
) => textControl("textarea", props);

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
