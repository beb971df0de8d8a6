/** The dialog for the reader's name and admin token. */
import { Button } from "./button.tsx";
import { useRef, useState } from "preact/hooks";
import { useValue } from "../core/hooks.tsx";
import { fetchPermissions } from "../core/api.ts";
import { href } from "../core/router.tsx";
import { adminToken, personName } from "../core/session.ts";
import { findProvenName, useIntent, useWhoami } from "../core/shared.ts";
import { Dialog } from "./dialog.tsx";
import { NameField, TokenField } from "./field.tsx";
import { UserText } from "./text.tsx";

export function YouDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState(useValue(personName));
  const [token, setToken] = useState(useValue(adminToken));
  const { data: me } = useWhoami();
  const proxyName = findProvenName(me);
  const { data: intent } = useIntent();
  const [fault, setFault] = useState<string | undefined>();
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const save = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    const entered = token.trim();
    if (entered !== "" && entered !== adminToken.get() && intent) {
      setBusy(true);
      const permissions = await fetchPermissions({ "x-svc-admin-token": entered });
      setBusy(false);
      // A caller who may write at all may feed KPIs.
      if (permissions && permissions !== "unknown" && !permissions.includes("kpi")) {
        setFault("The service does not accept this token. Without a token you can read, but not decide.");
        return form.current?.querySelector<HTMLElement>('[type="password"]')?.focus();
      }
    }
    personName.set(name.trim());
    adminToken.set(entered);
    onClose();
  };
  return (
    <Dialog title="Who are you?" onClose={onClose}>
      <form ref={form} onSubmit={(event) => void save(event)}>
        {proxyName === null ? (
          <NameField
            hint="Recorded in the audit log with each of your decisions, for example ana@acme.example. Stored in this browser."
            value={name}
            onValue={setName}
            first
          />
        ) : (
          <p>
            The proxy in front of this service identifies you as <UserText text={proxyName} />.
          </p>
        )}
        <TokenField
          hint="Only if the service asks for it. Sent with each request as a header, and forgotten when you close this tab."
          value={token}
          error={fault}
          onValue={(text) => {
            setToken(text);
            setFault(undefined);
          }}
          first={proxyName !== null}
        />
        <p>
          <a href={href(["you"])} onClick={onClose}>
            Your keys
          </a>{" "}
          sign your decisions if the intent lists them.
        </p>
        <footer>
          <button type="submit" aria-disabled={busy} aria-busy={busy}>
            Save
          </button>
          <Button class="secondary" onClick={onClose} label="Cancel" />
        </footer>
      </form>
    </Dialog>
  );
}
