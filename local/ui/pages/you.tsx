/** The keys of the person who uses the console, and a new passkey for the intent. */
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
import { useSubmit } from "../parts/form_submit.tsx";
import { Failure, Notice, Pending } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { UserText } from "../parts/text.tsx";

export function YouPage({ onYou }: { onYou: () => void }) {
  const name = toRecordedName(useValue(personName));
  const { data: intent, error } = useIntent();
  useTitle("You");
  return (
    <>
      <PageHead
        title="Your keys"
        lead="Once the intent lists a key of yours, your decisions count only if you sign them with a key."
      />
      {name === "" && (
        <Notice tone="wait">
          <p>
            Keys are listed under a name.{" "}
            <button type="button" class="link" onClick={onYou}>
              Set your name
            </button>
          </p>
        </Notice>
      )}
      {!intent && <Pending error={error} what="the intent" />}
      {intent && name !== "" && (
        <div class="columns">
          <ListedKeys name={name} keys={listShownKeys(name, intent.keys)} />
          <NewPasskey key={name} name={name} intent={intent} />
        </div>
      )}
    </>
  );
}

const ListedKeys = ({ name, keys }: { name: string; keys: readonly ShownKey[] }) => (
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

/** Makes a passkey on this device; nothing is sent. */
function NewPasskey({ name, intent }: { name: string; intent: IntentView }) {
  const [entry, setEntry] = useState<object | undefined>();
  const keys = listShownKeys(name, intent.keys);
  const make = useSubmit(() =>
    makePasskey(name, intent.product_id, keys.filter(isPasskey)).then(setEntry, (failure: unknown) => {
      throw failure instanceof NotSentError ? failure : new NotSentError("The passkey could not be made here.");
    }),
  );
  return (
    <Panel title="A new passkey">
      <p>
        This device makes the passkey, and verifies you whenever it signs. Its secret stays on the device; the intent
        lists only its public part.
      </p>
      <WrongAddress />
      {hasPasskeys() && !isIpAddress() && (
        <div class="buttons">
          <button
            type="button"
            class={entry ? "secondary" : ""}
            aria-busy={make.busy}
            aria-disabled={make.busy}
            onClick={make.send}
          >
            {make.busy ? "Waiting for this device…" : entry ? "Make another one" : "Make a passkey"}
          </button>
        </div>
      )}
      <Failure error={make.error} alert />
      {entry && <Instructions name={name} entry={entry} isFirst={keys.length === 0} />}
    </Panel>
  );
}

/** The new key's entry for the intent, and how to add it. */
const Instructions = ({ name, entry, isFirst }: { name: string; entry: object; isFirst: boolean }) => (
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
      <li>Restart the service to use the key.</li>
    </ol>
    <CopyBlock
      label="For the intent"
      text={isFirst ? `${JSON.stringify(name)}: ${formatJson({ kind: "person", keys: [entry] })}` : formatJson(entry)}
    />
    {isFirst && (
      <p class="quiet">
        Once the intent lists a person's key, only signed decisions count, unless its policy says otherwise.
      </p>
    )}
  </>
);

/** Browsers make no passkey for an IP address. */
const isIpAddress = (): boolean => /^(?:\d+\.\d+\.\d+\.\d+|\[.*\])$/.test(location.hostname);

function WrongAddress() {
  if (hasPasskeys() && !isIpAddress()) return null;
  const { port, pathname, hash, hostname } = location;
  const isThisMachine = /^(?:127\.|\[::1\])/.test(hostname);
  const local = `http://localhost${port === "" ? "" : `:${port}`}`;
  return (
    <Notice tone="warn">
      {isThisMachine ? (
        <p>
          Browsers make no passkey for an IP address. Open this page as{" "}
          <a href={`${local}${pathname}${hash}`}>{local}</a>.
        </p>
      ) : (
        <p>Browsers make passkeys only for a host name over https. Open this page under such an address.</p>
      )}
    </Notice>
  );
}
