import { Button } from "./button.tsx";
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { openDialogs } from "../core/hooks.tsx";

/** A dialog over the page. Escape closes it unless it is busy; the browser then gives the focus back. */
export function Dialog(props: {
  title: string;
  onClose: () => void;
  busy?: boolean;
  wide?: boolean;
  children: ComponentChildren;
}) {
  const { title, onClose, busy = false, wide = false, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const open = useRef(true);
  useLayoutEffect(() => {
    const element = dialog.current!;
    element.showModal();
    openDialogs.set(openDialogs.get() + 1);
    element.querySelector<HTMLElement>('[data-first="true"]')?.focus();
    return () => {
      open.current = false;
      openDialogs.set(openDialogs.get() - 1);
      element.close();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      class={wide ? "wide" : undefined}
      onCancel={(event) => {
        event.preventDefault();
        if (!busy) onClose();
      }}
      onClose={() => {
        // A browser closes a dialog by itself when Escape is pressed again and again.
        if (!open.current) return;
        if (busy) dialog.current?.showModal();
        else onClose();
      }}
    >
      <header>
        <h2 id={heading}>{title}</h2>
        <Button class="icon" aria-label="Close" disabled={busy} onClick={onClose} label="✕" />
      </header>
      {children}
    </dialog>
  );
}
