/** A field with options that arrows choose from, after the combobox pattern of ARIA. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

/** One option. */
export interface Option {
  key: string;
  content: ComponentChildren;
}

/**
 * `popup`: the options lie over the page while the reader types, and none is chosen before an arrow is pressed; otherwise they
 * stand below, and the first is chosen. `onChoose` takes the index of an option.
 */
export function Combobox({
  label,
  hint,
  value,
  caret,
  options,
  popup = false,
  busy = false,
  onValue,
  onChoose,
}: {
  label: string;
  hint: string;
  value: string;
  /** Place of the caret after an option was chosen. */
  caret?: number | undefined;
  options: readonly Option[];
  popup?: boolean;
  busy?: boolean;
  onValue: (value: string, caret: number) => void;
  onChoose: (index: number) => void;
}) {
  const id = useId();
  const none = popup ? -1 : 0;
  const [active, setActive] = useState(none);
  const [isOpen, setOpen] = useState(!popup);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const isExpanded = isOpen && options.length > 0;
  const at = isExpanded ? Math.min(active, options.length - 1) : -1;

  useLayoutEffect(() => {
    if (caret !== undefined && document.activeElement === input.current) input.current!.setSelectionRange(caret, caret);
  }, [value, caret]);
  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: "nearest" }), [at]);

  const report = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    setActive(none);
    onValue(currentTarget.value, currentTarget.selectionStart ?? currentTarget.value.length);
  };
  const choose = (index: number) => {
    setActive(none);
    onChoose(index);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      setOpen(true);
      setActive(Math.max(none, Math.min(options.length - 1, at + step)));
    } else if (event.key === "Enter" && !event.isComposing && at >= 0) choose(at);
    else if (event.key === "Escape" && popup && isExpanded) setOpen(false);
    else {
      if (event.key === "Enter" && popup) setOpen(false);
      return;
    }
    event.preventDefault();
  };

  return (
    <div class={popup ? "field combobox" : "field"} onBlur={() => popup && setOpen(false)}>
      <label for={id}>{label}</label>
      <input
        ref={input}
        id={id}
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={isExpanded}
        aria-controls={`${id}-options`}
        aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        aria-describedby={`${id}-hint`}
        dir="auto"
        autocomplete="off"
        spellcheck={false}
        maxLength={1000}
        data-first={!popup}
        value={value}
        onInput={(event) => {
          setOpen(true);
          report(event);
        }}
        onClick={report}
        onKeyUp={(event) => /^(?:ArrowLeft|ArrowRight|Home|End)$/.test(event.key) && report(event)}
        onKeyDown={onKeyDown}
      />
      <small id={`${id}-hint`} class="quiet">
        {hint}
      </small>
      <ul
        ref={list}
        id={`${id}-options`}
        role="listbox"
        aria-label={`${label}: suggestions`}
        aria-busy={busy}
        class="found"
        hidden={!isExpanded}
      >
        {options.map(({ key, content }, index) => (
          <li
            key={key}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            class={index === at ? "chosen" : ""}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(index)}
          >
            {content}
          </li>
        ))}
      </ul>
    </div>
  );
}
