/** Buttons, and texts with a button that copies them. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Code } from "./text.tsx";

/** A button that sends no form. */
export const Button = ({ label, ...attributes }: { label: string } & JSX.ButtonHTMLAttributes<HTMLButtonElement>) => (
  <button type="button" {...attributes}>
    {label}
  </button>
);

/** Copies text to the clipboard; asks the reader to copy it if the browser forbids that. */
export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState<string | undefined>();
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    const copied = await (navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"))).then(
      () => true,
      () => false,
    );
    setDone(copied ? "Copied" : "Select and copy it by hand");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setDone(undefined), 2500);
  };
  return (
    <button type="button" class="small" onClick={() => void copy()}>
      <span aria-live="polite">{done ?? label}</span>
    </button>
  );
}

/** A command or text with a copy button. */
export const CopyBlock = ({ text, label }: { text: string; label: string }) => (
  <div class="copy-block">
    <Code label={label}>{text}</Code>
    <CopyButton text={text} />
  </div>
);
