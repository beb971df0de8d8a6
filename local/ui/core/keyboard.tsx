/** Keyboard shortcuts: they open dialogs and move the focus, and never decide anything. */
import { useEffect } from "preact/hooks";
import { openDialogs, pageKeys } from "./hooks.tsx";
import { shortcuts } from "./session.ts";

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
  !["radio", "checkbox"].includes((target as HTMLInputElement).type);

/**
 * Listens for Ctrl or Command with `k`, which opens the search, or with `Enter`, which sends the form; and for the single keys
 * `?`, `/`, `j`, `k` and those of the page.
 * `Enter` on a focused row is handled by the browser.
 */
export function useKeyboard(open: { help: () => void; find: () => void }): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, target, ctrlKey, metaKey, altKey } = event;
      if (key === "Enter" && ctrlKey !== metaKey && !altKey) {
        const form = (target as HTMLElement).closest("form") ?? document.querySelector("dialog[open] form");
        return (form as HTMLFormElement | null)?.requestSubmit();
      }
      if (key === "k" && ctrlKey !== metaKey && !altKey && openDialogs.get() === 0) {
        event.preventDefault();
        return open.find();
      }
      const isIgnoredRepeat = event.repeat && key !== "j" && key !== "k";
      if (ctrlKey || metaKey || altKey || event.defaultPrevented || isIgnoredRepeat) return;
      if (shortcuts.get() === "off" || openDialogs.get() > 0 || isTyping(target)) return;
      const everywhere = new Map([["?", open.help], ["/", open.find], ["j", () => moveFocus(1)], ["k", () => moveFocus(-1)]]); // prettier-ignore
      const run = everywhere.get(key) ?? pageKeys.get().find((action) => action.key === key)?.run;
      if (!run) return;
      event.preventDefault();
      run();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** Moves the focus over the rows of the page, in their order. */
function moveFocus(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
  const focused = rows.indexOf(document.activeElement as HTMLElement);
  const next = focused === -1 ? rows.find((row) => row.getBoundingClientRect().bottom > 0) : rows[focused + step];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}
