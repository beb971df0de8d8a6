/** The dialog that lists the keys of this page, and switches single keys off. */
import { Button } from "./button.tsx";
import { pageKeys, useValue } from "../core/hooks.tsx";
import { shortcuts } from "../core/session.ts";
import { Dialog } from "./dialog.tsx";

const EVERYWHERE: readonly (readonly [string, string])[] = [
  ["?", "This help"],
  ["/", "Find a change or a page; so does Ctrl or Command with k"],
  ["j", "Next row"],
  ["k", "Previous row"],
  ["Enter", "Open the row"],
  ["Esc", "Close a dialog"],
  ["Ctrl Enter", "Send the form"],
];

export function HelpDialog({ onClose }: { onClose: () => void }) {
  const keys = useValue(pageKeys);
  const state = useValue(shortcuts);
  return (
    <Dialog title="Keys" onClose={onClose}>
      <p class="quiet">A single key opens a dialog or moves the focus. It never decides anything.</p>
      <dl class="keys">
        {[...EVERYWHERE, ...keys.map(({ key, label }) => [key, label] as const)].map(([key, label]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input type="checkbox" checked={state === "on"} onChange={() => shortcuts.set(state === "on" ? "off" : "on")} />
        Single keys are on
      </label>
      <footer>
        <Button class="secondary" data-first onClick={onClose} label="Close" />
      </footer>
    </Dialog>
  );
}
