import { useState } from "preact/hooks";
import { useValue } from "../core/hooks.tsx";
import { adminToken, personName } from "../core/session.ts";
import { Dialog } from "./dialog.tsx";
import { Line } from "./field.tsx";

/** Asks who sits here: a name for decisions, and the token if the service wants one. */
export function YouDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState(useValue(personName));
  const [token, setToken] = useState(useValue(adminToken));
  const keep = (event: Event) => {
    event.preventDefault();
    personName.set(name.trim());
    adminToken.set(token.trim());
    onClose();
  };
  return (
    <Dialog title="Who are you?" onClose={onClose}>
      <form onSubmit={keep}>
        <Line
          label="Your name"
          hint="Stands in the audit log beside each of your decisions, for example ana@acme.example."
          value={name}
          onValue={setName}
          autocomplete="username"
          maxLength={200}
          first
        />
        <Line
          label="Admin token"
          hint="Only if the service asks for one. Sent with each request as a header."
          type="password"
          autocomplete="current-password"
          value={token}
          onValue={setToken}
        />
        <p class="quiet">Both are kept for this tab and forgotten when you close it.</p>
        <footer>
          <button type="submit">Keep for this tab</button>
          <button type="button" class="secondary" onClick={onClose}>
            Cancel
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
