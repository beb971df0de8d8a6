/** Sign-in page of a service with protected reads. */
import { useState } from "preact/hooks";
import { canRead } from "../core/api.ts";
import { adminToken, readToken } from "../core/session.ts";
import { Line } from "./field.tsx";
import { PageHead, Panel } from "./panel.tsx";

/** Asks for a token, and stores it as admin token or as read token. */
export function SignInForm() {
  const [token, setToken] = useState("");
  const [fault, setFault] = useState<string | undefined>();
  const [busy, setBusy] = useState(false);
  const enter = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    const entered = token.trim();
    if (await canRead({ "x-svc-admin-token": entered })) adminToken.set(entered);
    else if (await canRead({ "x-svc-read-token": entered })) readToken.set(entered);
    else setFault("The service does not accept this token.");
    setBusy(false);
  };
  return (
    <>
      <PageHead title="Sign in to view" />
      <Panel title="Token">
        <form onSubmit={(event) => void enter(event)}>
          <Line
            label="Admin token or read token"
            hint="Sent with each request as a header, never in an address. Forgotten when you close this tab."
            type="password"
            autocomplete="current-password"
            value={token}
            onValue={setToken}
            error={fault}
            required
          />
          <footer>
            <button type="submit" aria-disabled={busy} aria-busy={busy}>
              Open
            </button>
          </footer>
        </form>
      </Panel>
    </>
  );
}
