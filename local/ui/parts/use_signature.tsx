/** The current statement of a decision, and its proof. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { IntentView } from "../core/api_types.ts";
import { type Fields, ServiceError, getServiceTime } from "../core/api.ts";
import { useNow } from "../core/hooks.tsx";
import type { Resource } from "../core/resource.tsx";
import type { Passkey } from "../domain/keys.ts";
import { signChallenge } from "../domain/passkeys.ts";
import type { Signable, Statement } from "../domain/statement.ts";

/** Ages at which an unsigned statement is rebuilt, and at which any expires here: half a minute before the service rejects it. */
const FRESH_MS = 4 * 60_000;
const VALID_MS = 9.5 * 60_000;

const timeNow = (): string => new Date(getServiceTime()).toISOString();

/** Signs, and returns the fields `proof` and `at`. */
export type Prove = () => Promise<Fields>;

/**
 * Builds the statement to sign. With `isSignedElsewhere` (in a terminal) it is not renewed automatically, so its time stays.
 * `error` is the error of the last proof.
 */
export function useSignature(
  signable: Signable,
  { data: intent, reload }: Resource<IntentView>,
  { isSignedElsewhere, error }: { isSignedElsewhere: boolean; error: unknown },
) {
  const now = useNow();
  const [at, setAt] = useState(timeNow);
  const [result, setResult] = useState<{ statement?: Statement; problem?: unknown }>({});
  const [intentChanged, setIntentChanged] = useState(false);
  const signed = useRef<{ text: string; proof: string }>();
  const lastHash = useRef<string>();
  const manifest_hash = intent?.manifest_hash;
  const latest = useRef({ signable, manifest_hash, at });
  latest.current = { signable, manifest_hash, at };
  const age = now - Date.parse(at);
  const isExpired = age > VALID_MS;
  const renew = () => {
    signed.current = undefined;
    setAt(timeNow());
  };

  useEffect(() => {
    if (!isSignedElsewhere && (isExpired || (age > FRESH_MS && !signed.current))) renew();
  });
  useEffect(() => {
    if (manifest_hash === undefined) return;
    setIntentChanged(lastHash.current !== undefined && lastHash.current !== manifest_hash);
    lastHash.current = manifest_hash;
  }, [manifest_hash]);
  useEffect(() => {
    if (!(error instanceof ServiceError) || error.body.code !== "proof_invalid") return;
    // A statement that is signed elsewhere stays: the signature may have been pasted wrongly.
    if (isSignedElsewhere) signed.current = undefined;
    else renew();
    void reload();
  }, [error]);
  useEffect(() => {
    let isOutdated = false;
    const show = (next: typeof result) => isOutdated || setResult(next);
    if (manifest_hash !== undefined)
      signable.makeStatement(manifest_hash, at).then((statement) => show({ statement }), (problem: unknown) => show({ problem })); // prettier-ignore
    return () => void (isOutdated = true);
  }, [signable.key, manifest_hash, at]);

  /** Signs a statement once; a repeated request sends the same proof. */
  const prove = async (sign: (statement: Statement) => Promise<object>): Promise<Fields> => {
    const current = latest.current;
    const statement = await current.signable.makeStatement(current.manifest_hash!, current.at);
    if (signed.current?.text !== statement.text)
      signed.current = { text: statement.text, proof: JSON.stringify(await sign(statement)) };
    return { proof: signed.current.proof, at: current.at };
  };
  return { at, ...result, intentChanged, isExpired, renew, prove };
}

/** Returns a function that signs a statement with a passkey. */
export const signWithPasskey =
  (keys: readonly Passkey[]) =>
  ({ challenge }: Statement): Promise<object> =>
    signChallenge(keys, challenge);
