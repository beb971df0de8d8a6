/** Labelled fields of forms, with their hints and errors. */
import { type ComponentChildren, h, type JSX } from "preact";
import { useId } from "preact/hooks";
import { useValue } from "../core/hooks.tsx";
import { adminToken } from "../core/session.ts";

interface LabelProps {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
}

/** A labelled control whose hint and error are linked for screen readers. */
function Labelled(props: LabelProps & { children: (attributes: ControlAttributes) => ComponentChildren }) {
  const { label, hint, error, children } = props;
  const id = useId();
  const describedBy = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        ...(describedBy ? { "aria-describedby": describedBy } : {}),
        ...(error ? { "aria-invalid": "true" } : {}),
      })}
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

interface ControlAttributes {
  id: string;
  "aria-describedby"?: string;
  "aria-invalid"?: "true";
}

type TextProps<E extends HTMLElement> = LabelProps &
  Omit<JSX.HTMLAttributes<E>, "label" | "onInput" | "value"> & {
    value: string;
    onValue: (value: string) => void;
    /** Takes the focus when its dialog opens. */
    first?: boolean;
  };

/** A text control whose direction follows the typed text. */
const textControl = (
  tag: "input" | "textarea",
  { label, hint, error, value, onValue, first, ...rest }: TextProps<HTMLInputElement> | TextProps<HTMLTextAreaElement>,
) => (
  <Labelled label={label} hint={hint} error={error}>
    {(attributes) => {
      const onInput = ({ currentTarget }: { currentTarget: { value: string } }) => onValue(currentTarget.value);
      return h(tag as string, { ...rest, ...attributes, dir: "auto", value, "data-first": first, onInput });
    }}
  </Labelled>
);

type Attributes = JSX.InputHTMLAttributes<HTMLInputElement>;

export const Line = (
  props: TextProps<HTMLInputElement> &
    Pick<
      Attributes,
      "type" | "inputMode" | "autocomplete" | "maxLength" | "required" | "list" | "name" | "placeholder"
    >,
) => textControl("input", props);

export const Lines = (
  props: TextProps<HTMLTextAreaElement> &
    Pick<JSX.TextareaHTMLAttributes<HTMLTextAreaElement>, "rows" | "maxLength" | "required" | "name" | "placeholder">,
) => textControl("textarea", props);

export function Choice(
  props: LabelProps & {
    value: string;
    onValue: (value: string) => void;
    options: readonly (readonly [string, string])[];
  },
) {
  const { label, hint, error, value, onValue, options } = props;
  return (
    <Labelled label={label} hint={hint} error={error}>
      {(attributes) => (
        <select {...attributes} value={value} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

export function CheckList(props: {
  legend: string;
  options: readonly string[];
  chosen: readonly string[];
  onChosen: (chosen: string[]) => void;
  format?: (option: string) => string;
}) {
  const { legend, options, chosen, onChosen, format = (option) => option } = props;
  return (
    <fieldset class="buttons">
      <legend>{legend}</legend>
      {options.map((option) => (
        <label key={option} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(option)}
            onChange={({ currentTarget: { checked } }) =>
              onChosen(options.filter((other) => (other === option ? checked : chosen.includes(other))))
            }
          />
          <span>{format(option)}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** A field described by data: a choice where it has options, several lines where it has rows. */
export interface FieldData<N extends string = string> extends Omit<
  Parameters<typeof Line>[0],
  "name" | "value" | "onValue" | "rows"
> {
  name: N;
  options?: readonly (readonly [string, string])[];
  rows?: number;
}

/** Fields in their order, with the values that are typed. */
export const FieldList = <N extends string>(props: {
  of: readonly FieldData<N>[];
  values: Readonly<Partial<Record<N, unknown>>>;
  onValue: (name: N, value: string) => void;
  faultOf: (name: N) => string | undefined;
}) => (
  <>
    {props.of.map(({ name, options, rows, ...rest }) => {
      const field = {
        ...rest,
        key: name,
        name,
        value: (props.values[name] as string | undefined) ?? "",
        onValue: (text: string) => props.onValue(name, text),
        error: rest.error ?? props.faultOf(name),
      };
      if (options) return <Choice {...field} options={options} />;
      return rows ? (
        textControl("textarea", { ...field, rows } as unknown as TextProps<HTMLTextAreaElement>)
      ) : (
        <Line {...field} />
      );
    })}
  </>
);

/** Suggestions for fields that refer to the list. */
export const Suggestions = ({ id, names = [] }: { id: string; names: readonly string[] | undefined }) => (
  <datalist id={id}>
    {names.map((name) => (
      <option key={name} value={name} />
    ))}
  </datalist>
);

interface FieldProps {
  value: string;
  onValue: (value: string) => void;
  hint?: string;
  error?: string | undefined;
  first?: boolean;
  required?: boolean;
}

/** A person's name, as it will be recorded with their decisions. */
export const NameField = ({ hint = "Recorded in the audit log, and stored in this browser.", ...rest }: FieldProps) => (
  <Line label="Your name" hint={hint} autocomplete="username" maxLength={200} {...rest} />
);

export const TokenField = ({ hint = "Stored for this tab.", ...rest }: FieldProps) => (
  <Line label="Admin token" hint={hint} type="password" autocomplete="current-password" {...rest} />
);

/** The token of this tab, stored as it is typed. */
export const StoredTokenField = () => (
  <TokenField value={useValue(adminToken)} onValue={(entered) => adminToken.set(entered.trim())} />
);
