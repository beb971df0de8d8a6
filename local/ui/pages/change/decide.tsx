/** The dialog in which a decision is made: about the change as it was when the dialog opened, and no other. */
import { useEffect, useRef, useState } from "preact/hooks";
import { isLive } from "../../../../lib/changes/rules/in_force.ts";
import type { ChangeDetail } from "../../core/api_types.ts";
import { Refused, Unreachable } from "../../core/api.ts";
import { useValue } from "../../core/hooks.tsx";
import { personName } from "../../core/session.ts";
import { useIntent } from "../../core/shared.ts";
import { DEEDS, type Deed, fieldsOf } from "../../domain/deeds.ts";
import { asSent, keysOf } from "../../domain/keys.ts";
import { listCautions } from "../../domain/cautions.ts";
import { requestOf } from "../../domain/sentences.ts";
import { Named } from "../../parts/change_name.tsx";
import { Cautions } from "../../parts/cautions.tsx";
import { makeSeenField } from "../../domain/seen.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Lines } from "../../parts/field.tsx";
import { Notice, sentenceOf } from "../../parts/notice.tsx";
import { KeptTokenField, NameField } from "../../parts/person_fields.tsx";
import { Given, Sentence } from "../../parts/text.tsx";
import { ChangedSince, useChangedSince } from "./changed_since.tsx";
import { DryRun } from "./dry_run.tsx";
import { SendFailure } from "./send_failure.tsx";
import { SignDecision } from "./sign_decision.tsx";
import { type Deciding, useDecision } from "./use_decision.tsx";
import type { Prove } from "../../parts/use_signature.tsx";

/** Decides on a change, under the revision that is shown. */
export function DecideDialog({ onClose, ...deciding }: Omit<Deciding, "onStale"> & { onClose: () => void }) {
  const { change, deed } = deciding;
  const {
    label,
    asks = `${label} this change?`,
    person,
    acts = false,
    decision,
    explained,
    noteHint,
    noteRequired = false,
    look,
  } = DEEDS[deed];
  const kept = useValue(personName);
  const { data: intent } = useIntent();
  const [name, setName] = useState(kept);
  const [asksName] = useState(kept === "");
  const [note, setNote] = useState("");
  const [prove, setProve] = useState<Prove | undefined>();
  const changed = useChangedSince(change);
  const { busy, stage, error, asksToken, askToken, decide } = useDecision({ ...deciding, onStale: changed.look });
  // What was sent and not answered may be what changed: then nothing is to be said of it, and it may be sent again.
  changed.maybeOwn.current = busy || error instanceof Unreachable;
  const signs = decision !== undefined && keysOf(name, intent?.keys).length > 0;
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const field = form.current?.querySelector<HTMLInputElement>('[type="password"]');
    if (asksToken && error instanceof Refused && error.refusal.code === "unauthorized") {
      field?.focus();
      field?.select();
    }
  }, [asksToken, error]);

  const send = (event: Event) => {
    event.preventDefault();
    if (busy || changed.now || (signs && !prove)) return;
    if (person) personName.set(name.trim());
    const fields = fieldsOf(deed, change.change_id, signs ? asSent(name) : name.trim(), note);
    const seen = makeSeenField(decision, change);
    void decide(async () => ({ ...fields, ...seen, ...(signs && (await prove!())) }));
  };

  return (
    <Dialog title={asks} onClose={onClose} busy={busy} wide={deed === "apply" || deed === "rollback"}>
      <form ref={form} onSubmit={send}>
        <p class="lead">
          <Sentence parts={requestOf(change)} />
        </p>
        <p>
          <Given text={change.summary} />
        </p>
        {isLive(change.status) && <Cautions of={listCautions(change)} />}
        {(deed === "apply" || deed === "rollback") && <DryRun change={change} operation={deed} onToken={askToken} />}
        <Warnings change={change} />
        {person && asksName && <NameField value={name} onValue={setName} required first />}
        {(person || acts) && (
          <Lines
            label="Note"
            hint={noteHint}
            value={note}
            onValue={setNote}
            rows={3}
            maxLength={4000}
            required={noteRequired}
            first={!asksName && !acts}
          />
        )}
        {signs && (
          <SignDecision
            deed={deed}
            change={change}
            name={asSent(name)}
            note={note}
            error={error}
            onProve={(given) => setProve(() => given)}
          />
        )}
        {asksToken && <KeptTokenField />}
        {changed.now ? <ChangedSince now={changed.now} error={error} /> : <SendFailure error={error} where="above" />}
        <p class="quiet">{explained}</p>
        <footer>
          {changed.now ? (
            <button type="button" onClick={onClose}>
              Close and look again
            </button>
          ) : (
            <>
              <button
                type="submit"
                class={look === "danger" ? "danger" : ""}
                disabled={signs && !prove && !busy}
                aria-disabled={busy}
                aria-busy={busy}
              >
                {busy
                  ? signs && stage === "proving"
                    ? "Signing…"
                    : "Sending…"
                  : confirmLabel(deed, name.trim(), signs)}
              </button>
              <button type="button" class="secondary" onClick={onClose} disabled={busy} data-first={!person}>
                Cancel
              </button>
            </>
          )}
        </footer>
      </form>
    </Dialog>
  );
}

function confirmLabel(deed: Deed, name: string, signs: boolean): string {
  const { label } = DEEDS[deed];
  return signs ? `${label} with your key` : name === "" ? `${label} now` : `${label} as ${name}`;
}

const Warnings = ({ change: { gates, related } }: { change: ChangeDetail }) => (
  <>
    {gates
      .filter(({ state }) => state === "warn")
      .map(({ gate, message }) => (
        <Notice key={gate} tone="warn">
          <Named text={sentenceOf(message)} related={related} />
        </Notice>
      ))}
  </>
);
