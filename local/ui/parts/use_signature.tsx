/** The current statement of a decision, and its proof. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { IntentView } from "../core/api_types.ts";
import { type Fields, ServiceError, getServiceTime } from "../core/api.ts";
import { useNow } from "../core/hooks.tsx";
import type { Resource } from "../core/resource.tsx";
import type { Passkey } from "../domain/keys.ts";
import { signChallenge } from "../domain/passkeys.ts";
import type { Signable, Statement } from "../domain/statement.ts";

/** Age at which a statement is rebuilt, and at which it expires; the service accepts one for ten minutes. */
const FRESH_MS = 4 * 60_000;
const VALID_MS = 9.5 * 60_000;

const timeNow = (): string => new Date(getServiceTime()).toISOString();

/** Signs, and returns the fields `proof` and `at`. */
export type Prove = () => Promise<Fields>;

/** Makes the statement; `held` keeps its time while it is signed in a terminal. `error` is that of the last proof. */
export function useSignature(
  signable: Signable,
  { data: intent, reload }: Resource<IntentView>,
  { held, error }: { held: boolean; error: unknown },
) {
  const now = useNow();
  const [at, setAt] = useState(timeNow);
  const [result, setMade] = useState<{ statement?: Statement; problem?: unknown }>({});
  const [intentChanged, setMoved] = useState(false);
  const signed = useRef<{ text: string; proof: string }>();
  const hash = useRef<string>();
  const manifest_hash = intent?.manifest_hash;
  const latest = useRef({ matter: signable, manifest_hash, at });
  latest.current = { matter: signable, manifest_hash, at };
  const age = now + (getServiceTime() - Date.now()) - Date.parse(at);
  const over = age > VALID_MS;
  const renew = () => {
    signed.current = undefined;
    setAt(timeNow());
  };

  useEffect(() => {
    if (!held && (over || (age > FRESH_MS && !signed.current))) renew();
  });
  useEffect(() => {
    if (manifest_hash === undefined) return;
    setMoved(hash.current !== undefined && hash.current !== manifest_hash);
    hash.current = manifest_hash;
  }, [manifest_hash]);
  useEffect(() => {
    if (!(error instanceof ServiceError) || error.body.code !== "proof_invalid") return;
    // A statement that is signed elsewhere stays: its signature may have been mispasted.
    if (held) signed.current = undefined;
    else renew();
    void reload();
  }, [error]);
  useEffect(() => {
    let gone = false;
    const show = (next: typeof result) => gone || setMade(next);
    if (manifest_hash !== undefined)
      signable.makeStatement(manifest_hash, at).then((statement) => show({ statement }), (problem: unknown) => show({ problem })); // prettier-ignore
    return () => void (gone = true);
  }, [signable.key, manifest_hash, at]);

  /** Signs a statement once; a repeated request sends the same proof. */
  const prove = async (sign: (statement: Statement) => Promise<object>): Promise<Fields> => {
    const stated = latest.current;
    const statement = await stated.matter.makeStatement(stated.manifest_hash!, stated.at);
    if (signed.current?.text !== statement.text)
      signed.current = { text: statement.text, proof: JSON.stringify(await sign(statement)) };
    return { proof: signed.current.proof, at: stated.at };
  };
  return { at, ...result, moved: intentChanged, over, renew, prove };
}

/** Returns a function that signs a statement with a passkey. */
export const signWithPasskey =
  (keys: readonly Passkey[]) =>
  ({ challenge }: Statement): Promise<object> =>
    signChallenge(keys, challenge);
