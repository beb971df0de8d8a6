/** The part of a form that signs: the statement in words, and the passkey or the SSH key that signs it. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { formatDateTime } from "../core/format.ts";
import { useIntent } from "../core/shared.ts";
import { listShownKeys, listPasskeyUrls, listUsablePasskeys } from "../domain/keys.ts";
import { hasPasskeys } from "../domain/passkeys.ts";
import type { Signable } from "../domain/statement.ts";
import { CopyBlock } from "./button.tsx";
import { Lines } from "./field.tsx";
import { Failure, Notice } from "./notice.tsx";
import { Facts } from "./panel.tsx";
import { Code, UserText } from "./text.tsx";
import { type Prove, useSignature, signWithPasskey } from "./use_signature.tsx";

interface SigningProps {
  name: string;
  /** Error of the last proof. */
  error: unknown;
  /** Gets the function that signs; undefined while nothing can be signed. */
  onProve: (prove: Prove | undefined) => void;
}

/** Shows the statement (`children` in words, `facts` as a list), and signs it with a passkey or an SSH key. */
export function Signing(
  props: SigningProps & {
    signable: Signable;
    facts: readonly (readonly [string, ComponentChildren])[];
    children: ComponentChildren;
  },
) {
  const { name, signable, facts, error, onProve, children } = props;
  const [prefersSsh, preferSsh] = useState(false);
  const [signature, setSignature] = useState("");
  const intent = useIntent();
  const keys = listShownKeys(name, intent.data?.keys);
  const passkeys = hasPasskeys() ? listUsablePasskeys(keys, location.origin) : [];
  const hasSsh = keys.some(({ type }) => type === "ssh");
  const signsBySsh = hasSsh && (prefersSsh || passkeys.length === 0);
  const { statement, problem, at, intentChanged, isExpired, renew, prove } = useSignature(signable, intent, {
    isSignedElsewhere: signsBySsh,
    error,
  });
  const text = statement?.text ?? "";
  useEffect(() => setSignature(""), [text]);

  // A passkey can be used immediately: the statement is rebuilt when the button is pressed.
  const canSign =
    problem === undefined &&
    (signsBySsh ? statement !== undefined && SSH_SIGNATURE.test(signature.trim()) && !isExpired : passkeys.length > 0);
  useLayoutEffect(() => {
    const sign = signsBySsh
      ? async () => ({ type: "ssh", signature: `${signature.trim()}\n` })
      : signWithPasskey(passkeys);
    onProve(canSign ? () => prove(sign) : undefined);
  }, [canSign, signsBySsh, signature, name, passkeys.length]);

  return (
    <section class="signing" aria-label="What you sign">
      <h3>What you sign</h3>
      <p>
        <UserText text={name} /> {children}
      </p>
      <Facts
        of={[...facts, ["Intent", <UserText text={intent.data?.version ?? "…"} />], ["Time", formatDateTime(at)]]}
      />
      {problem === undefined && (
        <details>
          <summary>Show what is signed</summary>
          <Code label="What is signed">{text}</Code>
        </details>
      )}
      <Failure error={problem} />
      {intentChanged && (
        <Notice tone="warn" alert>
          The intent was changed meanwhile. The statement names the new one now: read it again before you sign.
        </Notice>
      )}
      {signsBySsh && (
        <SshSigning
          text={text}
          at={at}
          isExpired={isExpired}
          renew={renew}
          signature={signature}
          onSignature={setSignature}
        />
      )}
      {passkeys.length === 0 && !hasSsh && <PasskeyElsewhere addresses={listPasskeyUrls(keys, location)} />}
      {passkeys.length > 0 && hasSsh && (
        <button type="button" class="link" onClick={() => preferSsh(!prefersSsh)}>
          {signsBySsh ? "Sign with a passkey instead" : "Sign with an SSH key instead"}
        </button>
      )}
    </section>
  );
}

/** Links to the addresses at which the passkeys work. */
const PasskeyElsewhere = ({ addresses }: { addresses: readonly string[] }) => (
  <Notice tone="warn">
    <p>Your passkey works only at the address where it was made. Open this page there:</p>
    <ul class="plain">
      {addresses.map((url) => (
        <li key={url}>
          <a href={url}>{new URL(url).origin}</a>
        </li>
      ))}
    </ul>
  </Notice>
);

/** The service accepts a statement for ten minutes. */
const ACCEPTED_MS = 10 * 60_000;

const SSH_SIGNATURE = /^-----BEGIN SSH SIGNATURE-----\s[^-]+-----END SSH SIGNATURE-----$/;

const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A command that signs the statement in a terminal, and a field for the signature. */
function SshSigning(props: {
  text: string;
  at: string;
  isExpired: boolean;
  renew: () => void;
  signature: string;
  onSignature: (signature: string) => void;
}) {
  const { text, at, isExpired, renew, signature, onSignature } = props;
  if (isExpired)
    return (
      <Notice tone="warn" alert>
        <p>
          This statement is older than ten minutes, so the service no longer accepts it.{" "}
          <button type="button" class="link" onClick={renew}>
            Renew it
          </button>
        </p>
      </Notice>
    );
  return (
    <>
      <p>Sign it in a terminal, with the path of your key, until {formatDateTime(Date.parse(at) + ACCEPTED_MS)}:</p>
      <CopyBlock
        label="Command that signs"
        text={`printf %s ${quoteForShell(text)} | ssh-keygen -Y sign -f ~/.ssh/id_ed25519_sk -n countersign-consent`}
      />
      <Lines
        label="Signature"
        hint="The output of the command, from BEGIN SSH SIGNATURE to END SSH SIGNATURE."
        value={signature}
        onValue={onSignature}
        rows={4}
        maxLength={8000}
        required
        error={
          signature.trim() === "" || SSH_SIGNATURE.test(signature.trim())
            ? undefined
            : "This is no SSH signature. Paste all lines from BEGIN to END."
        }
      />
    </>
  );
}
