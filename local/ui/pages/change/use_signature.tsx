/** The statement of a decision as it is being made, and its proof when it is asked for. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ChangeDetail, IntentView } from "../../core/api_types.ts";
import { type Fields, NotDone, Refused, serviceTime } from "../../core/api.ts";
import { useNow } from "../../core/hooks.tsx";
import type { Resource } from "../../core/resource.tsx";
import { asSent, type Passkey } from "../../domain/keys.ts";
import { signWith } from "../../domain/passkeys.ts";
import { type Statement, statementOf } from "../../domain/statement.ts";
import type { Decision } from "../../../../lib/governance/rules/statement.ts";

/** What is signed, and by whom. */
export interface Signable {
  change: ChangeDetail;
  decision: Decision;
  name: string;
  note: string;
  /** Why the last one was refused. */
  error: unknown;
}

/** A statement is made anew after this, so that whoever reads it has time left; the service takes one for ten minutes. */
const FRESH_MS = 4 * 60_000;
const TAKEN_MS = 9.5 * 60_000;

const timeNow = (): string => new Date(serviceTime()).toISOString();

/** Gives the fields that prove a decision: `proof` and `at`. */
export type Prove = () => Promise<Fields>;

/** Makes the statement; `held` keeps its time, as somebody signs it elsewhere. */
export function useSignature(
  { change, decision, name, note, error }: Signable,
  { data: intent, reload }: Resource<IntentView>,
  held: boolean,
) {
  const now = useNow();
  const [at, setAt] = useState(timeNow);
  const [made, setMade] = useState<{ statement?: Statement; problem?: unknown }>({});
  const [moved, setMoved] = useState(false);
  const signed = useRef<{ text: string; proof: string }>();
  const hash = useRef<string>();
  const manifest_hash = intent?.manifest_hash;
  const said = { decision, name: asSent(name), note, manifest_hash: manifest_hash ?? "", at };
  const latest = useRef({ change, said });
  latest.current = { change, said };
  const age = now + (serviceTime() - Date.now()) - Date.parse(at);
  const over = age > TAKEN_MS;
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
    if (!(error instanceof Refused) || error.refusal.code !== "proof_invalid") return;
    renew();
    void reload();
  }, [error]);
  useEffect(() => {
    let gone = false;
    const show = (next: typeof made) => gone || setMade(next);
    if (manifest_hash !== undefined)
      statementOf(change, said).then((statement) => show({ statement }), (problem: unknown) => show({ problem })); // prettier-ignore
    return () => void (gone = true);
  }, [change.digest, decision, said.name, note, manifest_hash, at]);

  /** Signed once, a statement is sent with that proof again and again. */
  const prove = async (sign: (statement: Statement) => Promise<object>): Promise<Fields> => {
    const { said: now } = latest.current;
    const statement = await statementOf(latest.current.change, now);
    if (signed.current?.text !== statement.text)
      signed.current = { text: statement.text, proof: JSON.stringify(await sign(statement)) };
    return { proof: signed.current.proof, at: now.at };
  };
  return { at, ...made, moved, over, renew, prove };
}

/** Has a statement signed with a passkey. */
export const withPasskey =
  (keys: readonly Passkey[]) =>
  ({ challenge }: Statement): Promise<object> => {
    if (!challenge) throw new NotDone("This page may not compute hashes: it needs https, or http://localhost.");
    return signWith(keys, challenge);
  };
