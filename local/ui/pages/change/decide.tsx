/** The dialog in which a decision is made: about the change as it was when the dialog opened, and no other. */
import { useEffect, useRef, useState } from "preact/hooks";
import { isLive } from "../../../../lib/changes/rules/in_force.ts";
import type { ChangeDetail } from "../../core/api_types.ts";
import { Refused, Unreachable } from "../../core/api.ts";
import { useNow, useValue } from "../../core/hooks.tsx";
import { personName } from "../../core/session.ts";
import { useIntent } from "../../core/shared.ts";
import { CHANGE_ACTIONS, type ChangeAction, makeFields } from "../../domain/change_actions.ts";
import { asSent, isSigned, keysOf } from "../../domain/keys.ts";
import { listCautions } from "../../domain/cautions.ts";
import { describeRequest } from "../../domain/sentences.ts";
import { Named } from "../../parts/change_name.tsx";
import { Cautions } from "../../parts/cautions.tsx";
import { makeSeenField } from "../../domain/seen.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Lines } from "../../parts/field.tsx";
import { formatSentence } from "../../domain/refusals.ts";
import { Notice } from "../../parts/notice.tsx";
import { KeptTokenField, NameField } from "../../parts/person_fields.tsx";
import { Given, Sentence } from "../../parts/text.tsx";
import { Unopened } from "../../parts/unopened.tsx";
import { ChangedSince, useChangedSince } from "./changed_since.tsx";
import { DryRun } from "./dry_run.tsx";
import { HeldNow } from "./held_now.tsx";
import { SendFailure } from "./send_failure.tsx";
import { SignDecision } from "./sign_decision.tsx";
import { type Decided, type Deciding, useDecision } from "./use_decision.tsx";
import type { Prove } from "../../parts/use_signature.tsx";

/** Decides on a change, under the revision that is shown; `onNext` goes on to what waits next once it is recorded. */
export function DecideDialog({
  onClose,
  onNext,
  ...deciding
}: Omit<Deciding, "onStale"> & { onClose: () => void; onNext: ((decided: Decided) => void) | undefined }) {
  const { action } = deciding;
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
  } = CHANGE_ACTIONS[action];
  const kept = useValue(personName);
  const { data: intent } = useIntent();
  const [name, setName] = useState(kept);
  const [asksName] = useState(kept === "");
  const [note, setNote] = useState("");
  const [prove, setProve] = useState<Prove | undefined>();
  const goesOn = useRef(false);
  const changed = useChangedSince(deciding.change);
  // A rollback that met a foreign edit is on record: the change is the same one, and is rolled back over the edit.
  const [drifted, setDrifted] = useState(false);
  const isSame = drifted && changed.now?.status === "applied";
  const change = (isSame && changed.now) || deciding.change;
  const stale = isSame ? undefined : changed.now;
  const { busy, stage, error, asksToken, askToken, decide } = useDecision({
    ...deciding,
    onDone: (decided) => (goesOn.current && onNext ? onNext(decided) : deciding.onDone(decided)),
    change,
    onStale: async (failure) => {
      if (failure.refusal.code === "target_drifted") setDrifted(true);
      await changed.look();
    },
  });
  // What was sent and not answered may be what changed: then nothing is to be said of it, and it may be sent again.
  changed.maybeOwn.current = busy || error instanceof Unreachable;
  const [overDrift, setOverDrift] = useState(false);
  const now = useNow();
  const over_drift = drifted ? overDrift : undefined;
  const signs = isSigned(decision, name, intent) || (over_drift === true && keysOf(name, intent?.keys).length > 0);
  const isNeeded = action === "restore" || person !== undefined;
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const field = form.current?.querySelector<HTMLInputElement>('[type="password"]');
    if (asksToken && error instanceof Refused && error.refusal.code === "unauthorized") {
      field?.focus();
      field?.select();
    }
  }, [asksToken, error]);

  const send = (event: SubmitEvent) => {
    event.preventDefault();
    goesOn.current = (event.submitter as HTMLButtonElement | null)?.value === "next";
    if (busy || stale || (signs && !prove)) return;
    if (isNeeded || name.trim() !== "") personName.set(name.trim());
    const fields = makeFields(action, change, signs ? asSent(name) : name.trim(), note);
    const seen = makeSeenField(decision, change);
    const over = over_drift ? { over_drift: "true" } : {};
    void decide(async () => ({ ...fields, ...seen, ...over, ...(signs && (await prove!())) }));
  };

  return (
    <Dialog
      title={asks}
      onClose={onClose}
      busy={busy}
      wide={action === "apply" || action === "rollback" || action === "restore"}
    >
      <form ref={form} onSubmit={send}>
        <p class="lead">
          <Sentence parts={describeRequest(change)} />
        </p>
        <p>
          <Given text={change.summary} />
        </p>
        {isLive(change.status) && <Cautions of={listCautions(change, now)} />}
        {action === "approve" && <Unopened change={change} />}
        {(action === "apply" || action === "rollback") && (
          <DryRun change={change} operation={action} onToken={askToken} />
        )}
        {action === "restore" && <HeldNow change={change} />}
        <Warnings change={change} />
        {asksName && <NameField value={name} onValue={setName} required={isNeeded} first={isNeeded} />}
        {(person || acts) && (
          <Lines
            label="Note"
            hint={noteHint}
            value={note}
            onValue={setNote}
            rows={3}
            maxLength={4000}
            required={noteRequired || over_drift === true}
            first={!asksName && !acts}
          />
        )}
        {signs && (
          <SignDecision
            action={action}
            change={change}
            name={asSent(name)}
            note={note}
            {...(over_drift && { over_drift })}
            error={error}
            onProve={(given) => setProve(() => given)}
          />
        )}
        {over_drift !== undefined && (
          <label class="check">
            <input
              type="checkbox"
              checked={overDrift}
              onChange={({ currentTarget }) => setOverDrift(currentTarget.checked)}
            />
            <span>Roll back over what was set outside Countersign. It needs a note.</span>
          </label>
        )}
        {asksToken && <KeptTokenField />}
        {stale ? <ChangedSince now={stale} error={error} /> : <SendFailure error={error} where="above" />}
        <p class="quiet">{explained}</p>
        <footer>
          {stale ? (
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
                  : confirmLabel(action, name.trim(), signs)}
              </button>
              {onNext && !busy && (
                <button type="submit" value="next" class="secondary" disabled={signs && !prove}>
                  {label} and go to next
                </button>
              )}
              <button type="button" class="secondary" onClick={onClose} disabled={busy} data-first={!isNeeded}>
                Cancel
              </button>
            </>
          )}
        </footer>
      </form>
    </Dialog>
  );
}

function confirmLabel(action: ChangeAction, name: string, signs: boolean): string {
  const { label } = CHANGE_ACTIONS[action];
  return signs ? `${label} with your key` : name === "" ? `${label} now` : `${label} as ${name}`;
}

const Warnings = ({ change: { gates, related } }: { change: ChangeDetail }) => (
  <>
    {gates
      .filter(({ state }) => state === "warn")
      .map(({ gate, message }) => (
        <Notice key={gate} tone="warn">
          <Named text={formatSentence(message)} related={related} />
        </Notice>
      ))}
  </>
);
