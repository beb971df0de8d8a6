/** Takes along what proves one change to somebody who has neither the service nor its log. */
import { useState } from "preact/hooks";
import { getText } from "../../core/api.ts";
import { save } from "../../core/save.ts";
import { Failure, Notice } from "../../parts/notice.tsx";

/** Keeps the certificate of a change as it stands now; a link would carry no token where reads are protected. */
export function KeepCertificate({ id }: { id: string }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [saved, setSaved] = useState("");
  const keep = async () => {
    if (busy) return;
    setBusy(true);
    setError(undefined);
    setSaved("");
    try {
      const text = await getText(`api/product/changes/${encodeURIComponent(id)}/certificate`);
      const name = `${id}.certificate`;
      save(new Blob([text], { type: "text/plain" }), name);
      setSaved(name);
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <div class="certificate">
      <button type="button" class="link" aria-disabled={busy} aria-busy={busy} onClick={() => void keep()}>
        Keep a certificate of this change
      </button>
      <p class="quiet">
        One file with its content, who decided what of it under which intent, and the proof that the log says so.{" "}
        <code>countersign-verify certificate FILE</code> checks it without this service.
      </p>
      <Failure error={error} alert />
      {saved && (
        <Notice tone="good" alert>
          Saved {saved}, as the change stands now.
        </Notice>
      )}
    </div>
  );
}
