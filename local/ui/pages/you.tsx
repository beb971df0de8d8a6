/** The reader's keys, and a new passkey for the intent. */
import { useState } from "preact/hooks";
import { NotSentError } from "../core/api.ts";
import { formatJson } from "../core/format.ts";
import { useTitle, useValue } from "../core/hooks.tsx";
import { personName } from "../core/session.ts";
import { useIntent } from "../core/shared.ts";
import type { IntentView, ShownKey } from "../core/api_types.ts";
import { toRecordedName, isPasskey, listShownKeys } from "../domain/keys.ts";
import { hasPasskeys, makePasskey } from "../domain/passkeys.ts";
import { CopyBlock } from "../parts/button.tsx";
import { Failure, Notice, Pending } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { UserText } from "../parts/text.tsx";

/** The reader's keys. */
export function YouPage({ onYou }: { onYou: () => void }) {
  const name = toRecordedName(useValue(personName));
  const { data: intent, error } = useIntent();
  useTitle("You");
  return (
    <>
      <PageHead
        title="Your keys"
        lead="Once the intent lists a key of yours, what you decide counts only when it is signed with one."
      />
      {name === "" && (
        <Notice tone="wait">
          <p>
            A key stands under a name.{" "}
            <button type="button" class="link" onClick={onYou}>
              Set your name
            </button>
          </p>
        </Notice>
      )}
      {!intent && <Pending error={error} what="the intent" />}
      {intent && name !== "" && (
        <div class="columns">
          <Listed name={name} keys={listShownKeys(name, intent.keys)} />
          <NewPasskey key={name} name={name} intent={intent} />
        </div>
      )}
    </>
  );
}

const Listed = ({ name, keys }: { name: string; keys: readonly ShownKey[] }) => (
  <Panel title="Listed by the intent">
    {keys.length === 0 ? (
      <p>
        The intent lists no key of <UserText text={name} />.
      </p>
    ) : (
      <ul class="plain">
        {keys.map((key) => (
          <li key={key.id}>
            <p>
              {isPasskey(key)
                ? `Passkey of ${key.rp_id}`
                : key.unattended
                  ? "SSH key that signs by itself: unattended"
                  : "SSH key of a security key"}
            </p>
            <UserText text={key.id} code />
          </li>
        ))}
      </ul>
    )}
  </Panel>
);

/** Creates a passkey without sending anything. */
function NewPasskey({ name, intent }: { name: string; intent: IntentView }) {
  const [line, setLine] = useState<object | undefined>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const keys = listShownKeys(name, intent.keys);
  const make = async () => {
    if (busy) return;
    setBusy(true);
    setError(undefined);
    try {
      setLine(await makePasskey(name, intent.product_id, keys.filter(isPasskey)));
    } catch (failure) {
      setError(failure instanceof NotSentError ? failure : new NotSentError("The passkey could not be made here."));
    }
    setBusy(false);
  };
  return (
    <Panel title="A new passkey">
      <p>
        This device makes it, and asks for you whenever it signs. Its secret stays on the device; the intent is given
        the public part.
      </p>
      <WrongAddress />
      {hasPasskeys() && !isAddress() && (
        <div class="buttons">
          <button type="button" class={line ? "secondary" : ""} aria-busy={busy} aria-disabled={busy} onClick={make}>
            {busy ? "Waiting for this device…" : line ? "Make another one" : "Make a passkey"}
          </button>
        </div>
      )}
      <Failure error={error} alert />
      {line && <Line name={name} line={line} isFirst={keys.length === 0} />}
    </Panel>
  );
}

/** Instructions for the line, in words. */
const Line = ({ name, line, isFirst }: { name: string; line: object; isFirst: boolean }) => (
  <>
    <Notice tone="good" alert>
      The passkey is made. It counts once the intent lists it.
    </Notice>
    <ol class="steps">
      <li>Copy this{isFirst ? " member" : " line"}. It holds no secret.</li>
      <li>
        Add it to the product intent,{" "}
        {isFirst ? (
          <>
            under <code>principals</code>
          </>
        ) : (
          <>
            to your <code>keys</code> under <code>principals</code>
          </>
        )}
        , raise <code>update_epoch</code>, and have the change of that file reviewed. Nothing on this service adds a
        key.
      </li>
      <li>The service takes it when it is next started.</li>
    </ol>
    <CopyBlock
      label="For the intent"
      text={isFirst ? `${JSON.stringify(name)}: ${formatJson({ kind: "person", keys: [line] })}` : formatJson(line)}
    />
    {isFirst && (
      <p class="quiet">
        As soon as the intent lists anybody's keys, only signed decisions count, unless its policy says otherwise.
      </p>
    )}
  </>
);

/** Browsers make no passkey for a bare IP address, nor without https. */
const isAddress = (): boolean => /^(?:\d+\.\d+\.\d+\.\d+|\[.*\])$/.test(location.hostname);

function WrongAddress() {
  if (hasPasskeys() && !isAddress()) return null;
  const { port, pathname, hash, hostname } = location;
  const isHere = /^(?:127\.|\[::1\])/.test(hostname);
  const local = `http://localhost${port === "" ? "" : `:${port}`}`;
  return (
    <Notice tone="warn">
      {isHere ? (
        <p>
          Browsers make no passkey for an IP address. Open this page as{" "}
          <a href={`${local}${pathname}${hash}`}>{local}</a>.
        </p>
      ) : (
        <p>Browsers make passkeys only for a name that is reached over https. Open this page under such a name.</p>
      )}
    </Notice>
  );
}
