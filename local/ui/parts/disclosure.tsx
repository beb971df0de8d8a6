import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

/** Details whose content is drawn once they are opened. */
export function Disclosure(props: { summary: ComponentChildren; class?: string; children: () => ComponentChildren }) {
  const { summary, class: extra = "", children } = props;

  const [open, setOpen] = useState(false);
  return (
    <details class={extra} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{summary}</summary>
      {open && children()}
    </details>
  );
}
