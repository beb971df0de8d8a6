/** Stands before every page where reads are protected and nothing says who reads. */
import { useState } from "preact/hooks";
import { opensReads } from "../core/api.ts";
import { adminToken, readToken } from "../core/session.ts";
import { Line } from "./field.tsx";
import { PageHead, Panel } from "./panel.tsx";

/** Asks for a token, and finds out which of the two it is. */
export function Gate() {
  const [token, setToken] = useState("");
  const [fault, setFault] = useState<string | undefined>();
  const [busy, setBusy] = useState(false);
  const enter = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    const given = token.trim();
    if (await opensReads({ "x-svc-admin-token": given })) adminToken.set(given);
    else if (await opensReads({ "x-svc-read-token": given })) readToken.set(given);
    else setFault("This is not a token that opens this service.");
    setBusy(false);
  };
  return (
    <>
      <PageHead title="Sign in to view" />
      <Panel title="Token">
        <form onSubmit={(event) => void enter(event)}>
          <Line
            label="Admin token or read token"
            hint="Sent with each request as a header, never in an address. Kept for this tab and forgotten when you close it."
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
