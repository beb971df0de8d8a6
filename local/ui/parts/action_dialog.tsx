/** A dialog that sends one action: under a name, with a note, and signed where the intent lists a key of that name. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { AuditEntry } from "../core/api_types.ts";
import { type Fields, post } from "../core/api.ts";
import { useValue } from "../core/hooks.tsx";
import { adminToken, personName } from "../core/session.ts";
import { useIntent } from "../core/shared.ts";
import { asSent, isSigned } from "../domain/keys.ts";
import { keepReceipt } from "../domain/receipts.ts";
import type { Matter } from "../domain/statement.ts";
import { Dialog } from "./dialog.tsx";
import { Lines } from "./field.tsx";
import { Failure, tokenHint } from "./notice.tsx";
import { KeptTokenField, NameField } from "./person_fields.tsx";
import { DialogEnd, useKeys, useSending } from "./sending.tsx";
import { Signing } from "./signing.tsx";
import type { Prove } from "./use_signature.tsx";

export interface Action {
  title: string;
  path: string;
  /** Label of the button that sends; `unsigned` where it differs without a signature. */
  verb: string;
  unsigned?: string;
  decision: string;
  /** In a statement, after the person's name. */
  says: string;
  explained: string;
  noteHint: string;
  noteLabel?: string;
  isNoteRequired?: true;
  /** The field that names the person. */
  person?: "actor" | "approver";
  isNameRequired?: boolean;
}

/** The dialog; `children` are the fields of this action, `fields` what they send. */
export function ActionDialog({
  of: {
    title,
    path,
    verb,
    unsigned = verb,
    decision,
    says,
    explained,
    noteHint,
    noteLabel = "Note",
    isNoteRequired,
    person = "actor",
    isNameRequired = true,
  },
  fields = {},
  facts = [],
  matter,
  children,
  onClose,
  onDone = onClose,
}: {
  of: Action;
  fields?: Fields;
  facts?: readonly (readonly [string, ComponentChildren])[];
  matter: (by: { actor: string; note: string }) => Matter;
  children?: ((faultOf: (field: string) => string | undefined) => ComponentChildren) | undefined;
  onClose: () => void;
  onDone?: () => void;
}) {
  const { data: intent } = useIntent();
  const kept = useValue(personName);
  const [asksToken] = useState(adminToken.get() === "");
  const [asksName] = useState(kept === "");
  const [name, setName] = useState(kept);
  const [note, setNote] = useState("");
  const [prove, setProve] = useState<Prove | undefined>();
  const signs = isSigned(decision, name, intent);
  const actor = asSent(name);
  const key = useKeys();
  const { send, busy, error, faultOf } = useSending(async () => {
    if (name.trim() !== "") personName.set(name.trim());
    const stated = { ...fields, [person]: actor || undefined, note: note || undefined };
    const sent = { ...stated, ...(signs && (await prove?.())) };
    const answer = await post<{ audit_entry: AuditEntry }>(path, sent, { key: key(sent) });
    keepReceipt(answer.audit_entry);
  }, onDone);
  const nameFirst = asksName && isNameRequired;
  return (
    <Dialog title={title} onClose={onClose} busy={busy}>
      <form onSubmit={send}>
        {nameFirst && <NameField value={name} onValue={setName} required first />}
        {children?.(faultOf)}
        {asksName && !isNameRequired && <NameField value={name} onValue={setName} />}
        <Lines
          label={noteLabel}
          hint={noteHint}
          value={note}
          onValue={setNote}
          rows={3}
          maxLength={4000}
          required={isNoteRequired ?? false}
          error={faultOf("note")}
          first={!nameFirst && !children}
        />
        {signs && (
          <Signing
            name={actor}
            matter={matter({ actor, note })}
            facts={facts}
            error={error}
            onProve={(given) => setProve(() => given)}
          >
            {says}
            {note === "" || noteLabel !== "Note" ? "." : ", with your note."}
          </Signing>
        )}
        {asksToken && error !== undefined && <KeptTokenField />}
        <Failure error={error} alert tokenHint={tokenHint(asksToken ? "above" : "under “You”")} />
        <p class="quiet">{explained}</p>
        <DialogEnd
          verb={signs ? `${verb} with your key` : unsigned}
          busy={busy}
          disabled={signs && !prove && !busy}
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}
