/** Forms of actions: sent under a name with a note, and signed if the intent lists a key of that name. */
import { Button } from "./button.tsx";
import type { ComponentChildren } from "preact";
import { type MutableRef, useEffect, useRef, useState } from "preact/hooks";
import type { AuditEntry } from "../core/api_types.ts";
import { type Fields, findFieldFault, post, ServiceError, UnreachableError } from "../core/api.ts";
import { useValue } from "../core/hooks.tsx";
import { personName } from "../core/session.ts";
import { useIntent } from "../core/shared.ts";
import { toRecordedName, isSigned, listShownKeys } from "../domain/keys.ts";
import { storeReceipt } from "../domain/receipts.ts";
import type { Signable } from "../domain/statement.ts";
import { Dialog } from "./dialog.tsx";
import { Lines, StoredTokenField, NameField } from "./field.tsx";
import { Failure, describeToken } from "./notice.tsx";
import { useIdempotencyKeys } from "./form_submit.tsx";
import { Signing } from "./signing.tsx";
import type { Prove } from "./use_signature.tsx";

/** Texts and request of an action. */
export interface ActionForm {
  label: string;
  title: string;
  decision: string;
  /** Absent: `api/product/<decision>`. */
  path?: string;
  /** In a statement, after the person's name. */
  says: string;
  explanation: string;
  noteHint: string;
  noteLabel?: string;
  isNoteRequired?: boolean;
  /** The field that names the person; absent: `actor`. */
  person?: "actor" | "approver" | "proposer";
  /** Fields that are always sent. */
  fields?: Fields;
  /** The action needs no name; the dialog then focuses Cancel first. */
  isNameless?: boolean;
  style?: "danger" | "secondary";
}

/** An answer with its receipt. */
export interface RecordedAnswer {
  /** Absent where nothing was recorded. */
  audit_entry?: AuditEntry | null;
}

/** The revision that a request requires, and its listeners. */
export interface SendOptions<A extends RecordedAnswer> {
  /** The revision of the change that is shown. */
  revision?: number;
  onDone: (answer: A) => void;
  onRefused?: ((message: string) => void) | undefined;
  /** Called when the shown change may be out of date. */
  onStale?: ((failure: ServiceError) => Promise<void>) | undefined;
}

/** A statement to sign, and its description. */
export interface StatementTexts {
  signable: (by: { name: string; note: string }) => Signable;
  /** Replaces `says` of the action. */
  says?: ComponentChildren;
  facts?: readonly (readonly [string, ComponentChildren])[];
}

/** Statuses after which the shown change may be out of date. */
const STALE_STATUSES = [400, 404, 409, 412];

/** Sends an action; `send` takes a function that makes the fields, which may ask for a signature. */
function useSend<A extends RecordedAnswer>(path: string, { revision, onDone, onRefused, onStale }: SendOptions<A>) {
  const [stage, setStage] = useState<"proving" | "sending" | undefined>();
  const [error, setError] = useState<unknown>();
  const [asksToken, setAsksToken] = useState(false);
  const key = useIdempotencyKeys();
  const send = async (makeFields: () => Promise<Fields>): Promise<void> => {
    if (stage) return;
    setStage("proving");
    setError(undefined);
    try {
      const fields = await makeFields();
      setStage("sending");
      const answer = await post<A>(path, fields, { revision, key: key(fields) });
      storeReceipt(answer.audit_entry);
      onDone(answer);
    } catch (failure) {
      setStage(undefined);
      setError(failure);
      if (failure instanceof ServiceError) {
        const { status, code } = failure.body;
        if (code === "unauthorized") setAsksToken(true);
        if (status === 403) onRefused?.(failure.message);
        if (STALE_STATUSES.includes(status)) await onStale?.(failure);
      }
    }
  };
  return { stage, error, asksToken, askToken: () => setAsksToken(true), send };
}

/** The error of an action, with a token field if one is needed. */
const SendFailure = ({ error, asksToken }: { error: unknown; asksToken: boolean }) => (
  <>
    {asksToken && <StoredTokenField />}
    <Failure error={error} alert tokenHint={describeToken("above")} />
    {error instanceof UnreachableError && (
      <p class="quiet">It may have arrived. Send it again unchanged: the service does a repeated request only once.</p>
    )}
  </>
);

/** The dialog of an action; `children` are its own inputs, `fields` their values. */
export function ActionDialog<A extends RecordedAnswer>(
  props: SendOptions<A> & {
    of: ActionForm;
    fields: Fields;
    signed: StatementTexts;
    /** Requires a signature if the named person has a key, for any decision. */
    mustSign?: boolean;
    /** Shown above the inputs; may ask for the token. */
    lead?: (askToken: () => void) => ComponentChildren;
    children?: ((faultOf: (field: string) => string | undefined) => ComponentChildren) | undefined;
    /** Explains that the shown change was altered meanwhile, after which nothing can be sent. */
    stale?: ((error: unknown) => ComponentChildren) | undefined;
    /** Set to true while a request has no answer yet, or got none, so that it may have been done. */
    inDoubt?: MutableRef<boolean>;
    /** Opens the next waiting change once the action is recorded. */
    onNext?: ((answer: A) => void) | undefined;
    onClose: () => void;
    wide?: boolean;
  },
) {
  const {
    of,
    fields,
    signed,
    mustSign = false,
    lead,
    children,
    stale,
    inDoubt,
    onNext,
    onClose,
    wide = false,
    ...sending
  } = props;
  const { signable, says = of.says, facts = [] } = signed;
  const { label, person = "actor", isNameless = false, noteLabel = "Note", isNoteRequired = false } = of;
  const { data: intent } = useIntent();
  const storedName = useValue(personName);
  const [asksName] = useState(storedName === "");
  const [typed, setName] = useState(storedName);
  const [note, setNote] = useState("");
  const [prove, setProve] = useState<Prove | undefined>();
  const goesToNext = useRef(false);
  const name = toRecordedName(typed);
  const signs = mustSign ? listShownKeys(name, intent?.keys).length > 0 : isSigned(of.decision, name, intent);
  const onDone = (answer: A) => (goesToNext.current && onNext ? onNext(answer) : sending.onDone(answer));
  const { stage, error, asksToken, askToken, send } = useSend<A>(actionPath(of), { ...sending, onDone });
  const busy = stage !== undefined;
  if (inDoubt) inDoubt.current = busy || error instanceof UnreachableError;
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (!asksToken || !(error instanceof ServiceError) || error.body.code !== "unauthorized") return;
    const field = form.current?.querySelector<HTMLInputElement>('[type="password"]');
    field?.focus();
    field?.select();
  }, [asksToken, error]);
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    goesToNext.current = (event.submitter as HTMLButtonElement | null)?.value === "next";
    if (busy || stale || (signs && !prove)) return;
    if (name !== "") personName.set(name);
    const stated = { ...of.fields, ...fields, [person]: name || undefined, note: note || undefined };
    void send(async () => ({ ...stated, ...(signs && (await prove!())) }));
  };
  const faultOf = (field: string) => findFieldFault(error, field);
  const isReady = !signs || prove !== undefined || busy;
  const nameField = asksName && (
    <NameField value={typed} onValue={setName} required={!isNameless} first={!isNameless} />
  );
  return (
    <Dialog title={of.title} onClose={onClose} busy={busy} wide={wide}>
      <form ref={form} onSubmit={onSubmit}>
        {lead?.(askToken)}
        {!isNameless && nameField}
        {children?.(faultOf)}
        {isNameless && nameField}
        <Lines
          label={noteLabel}
          hint={of.noteHint}
          value={note}
          onValue={setNote}
          rows={3}
          maxLength={4000}
          required={isNoteRequired}
          error={faultOf("note")}
          first={!asksName && !isNameless}
        />
        {signs && (
          <Signing
            name={name}
            signable={signable({ name, note })}
            facts={facts}
            error={error}
            onProve={(next) => setProve(() => next)}
          >
            {says}
            {note === "" || noteLabel !== "Note" ? "." : ", with your note."}
          </Signing>
        )}
        {stale ? stale(error) : <SendFailure error={error} asksToken={asksToken} />}
        <p class="quiet">{of.explanation}</p>
        <footer>
          {stale ? (
            <Button onClick={onClose} label="Close and look again" />
          ) : (
            <>
              <button
                type="submit"
                class={of.style === "danger" ? "danger" : ""}
                disabled={!isReady}
                aria-disabled={busy}
                aria-busy={busy}
              >
                {busy ? (signs && stage === "proving" ? "Signing…" : "Sending…") : describeButton(label, name, signs)}
              </button>
              {onNext && !busy && (
                <button type="submit" value="next" class="secondary" disabled={!isReady}>
                  {label} and go to next
                </button>
              )}
              <Button class="secondary" onClick={onClose} disabled={busy} data-first={isNameless} label="Cancel" />
            </>
          )}
        </footer>
      </form>
    </Dialog>
  );
}

const actionPath = ({ decision, path = `api/product/${decision}` }: ActionForm): string => path;

const describeButton = (label: string, name: string, signs: boolean): string =>
  signs ? `${label} with your key` : name === "" ? `${label} now` : `${label} as ${name}`;

/** An action in one tap: the statement, and a button that signs and sends it. */
export function OneTapForm<A extends RecordedAnswer>(
  props: SendOptions<A> & { of: ActionForm; name: string; fields: Fields; signed: StatementTexts },
) {
  const { of, name, fields, signed, ...sending } = props;
  const { signable, says = of.says, facts = [] } = signed;
  const { stage, error, asksToken, send } = useSend<A>(actionPath(of), sending);
  const [prove, setProve] = useState<Prove | undefined>();
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (prove) void send(async () => ({ ...fields, [of.person ?? "actor"]: name, ...(await prove()) }));
  };
  return (
    <form class="one-tap" onSubmit={onSubmit}>
      <Signing
        name={name}
        signable={signable({ name, note: "" })}
        facts={facts}
        error={error}
        onProve={(next) => setProve(() => next)}
      >
        {says}.
      </Signing>
      <SendFailure error={error} asksToken={asksToken} />
      {prove && (
        <button type="submit" aria-disabled={stage !== undefined} aria-busy={stage !== undefined}>
          {stage === "proving" ? "Waiting for your key…" : stage ? "Sending…" : `${of.label} with your key`}
        </button>
      )}
    </form>
  );
}
