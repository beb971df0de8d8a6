/** The dialog in which a decision is made: about the change as it was when the dialog opened, and no other. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Action, ChangeDetail, Decision, Operation } from "../../core/api_types.ts";
import { type Fields, get, post, Refused, Unreachable } from "../../core/api.ts";
import { useNow, useValue } from "../../core/hooks.tsx";
import { onNews } from "../../core/live.ts";
import { adminToken, personName } from "../../core/session.ts";
import { ACTION_LABEL } from "../../domain/offers.ts";
import { keepReceipt } from "../../domain/receipts.ts";
import { requestOf, standingOf } from "../../domain/sentences.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Line, Lines } from "../../parts/field.tsx";
import { Failure, Notice, sentenceOf, tokenHint } from "../../parts/notice.tsx";
import { useKeys } from "../../parts/sending.tsx";
import { Given, Sentence } from "../../parts/text.tsx";
import { DryRun } from "./dry_run.tsx";

/** What came of it. */
export type Decided = { action: Action; answer: Decision | Operation };

const PERSON: Partial<Record<Action, "approver" | "proposer">> = {
  approve: "approver",
  deny: "approver",
  withdraw: "proposer",
  revoke: "approver",
};

const EXPLAINED: Readonly<Record<Action, string>> = {
  approve: "Your consent is given to exactly this content, and stands in the audit log under your name.",
  deny: "One denial is final. The proposer can propose it again.",
  withdraw: "The proposal is taken back and closed.",
  revoke: "Your consent is taken back, and the change is closed. The proposer can propose it again.",
  apply: "The change is carried to the host product now, and verified there.",
  rollback: "What was there before comes back, unless a later change has taken the place.",
};

/** The fields that an action sends. */
export function fieldsOf(action: Action, change_id: string, name: string, note: string): Fields {
  const person = PERSON[action];
  return person ? { change_id, [person]: name, note: note === "" ? undefined : note } : { change_id };
}

/** Decides on a change, under the revision that is shown. */
export function DecideDialog({
  change,
  action,
  onDone,
  onRefused,
  onClose,
}: {
  change: ChangeDetail;
  action: Action;
  onDone: (decided: Decided) => void;
  onRefused: (message: string) => void;
  onClose: () => void;
}) {
  const kept = useValue(personName);
  const token = useValue(adminToken);
  const [name, setName] = useState(kept);
  const [asksName] = useState(kept === "");
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [asksToken, setAsksToken] = useState(false);
  // What was sent and not answered may be what changed: then nothing is to be said of it, and it may be sent again.
  const changed = useChangedSince(change, busy || error instanceof Unreachable);
  const key = useKeys();
  const person = PERSON[action];
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const field = form.current?.querySelector<HTMLInputElement>('[type="password"]');
    if (asksToken && error instanceof Refused && error.refusal.code === "unauthorized") {
      field?.focus();
      field?.select();
    }
  }, [asksToken, error]);

  const send = async (event: Event) => {
    event.preventDefault();
    if (busy || changed.now) return;
    setBusy(true);
    setError(undefined);
    if (person) personName.set(name.trim());
    const fields = fieldsOf(action, change.change_id, name.trim(), note);
    try {
      const conditions = { revision: change.revision, key: key(fields) };
      const answer = await post<Decision | Operation>(`api/product/${action}`, fields, conditions);
      keepReceipt(answer.audit_entry);
      onDone({ action, answer });
    } catch (failure) {
      setBusy(false);
      setError(failure);
      if (!(failure instanceof Refused)) return;
      const { status, code } = failure.refusal;
      if (code === "unauthorized") setAsksToken(true);
      if (status === 403) onRefused(failure.message);
      if (status === 400 || status === 404 || status === 409 || status === 412) await changed.look();
    }
  };

  return (
    <Dialog title={`${ACTION_LABEL[action]} this change?`} onClose={onClose} busy={busy} wide={action === "apply"}>
      <form ref={form} onSubmit={(event) => void send(event)}>
        <p class="lead">
          <Sentence parts={requestOf(change)} />
        </p>
        <p>
          <Given text={change.summary} />
        </p>
        {action === "apply" && <DryRun change={change} auto onToken={() => setAsksToken(true)} />}
        {change.gates
          .filter(({ state }) => state === "warn")
          .map(({ gate, message }) => (
            <Notice key={gate} tone="warn">
              <Given text={sentenceOf(message)} />
            </Notice>
          ))}
        {person && asksName && (
          <Line
            label="Your name"
            hint="Stands in the audit log, and is kept for this tab."
            value={name}
            onValue={setName}
            autocomplete="username"
            maxLength={200}
            required
            first
          />
        )}
        {person && (
          <Lines
            label="Note"
            hint={
              action === "deny" || action === "revoke"
                ? "Why not? The proposer will read it."
                : "What convinced you? It stays on record."
            }
            value={note}
            onValue={setNote}
            rows={3}
            maxLength={4000}
            first={!asksName}
          />
        )}
        {asksToken && (
          <Line
            label="Admin token"
            hint="Kept for this tab."
            type="password"
            autocomplete="current-password"
            value={token}
            onValue={(given) => adminToken.set(given.trim())}
          />
        )}
        {changed.now ? <ChangedSince now={changed.now} error={error} /> : <SendFailure error={error} />}
        <p class="quiet">{EXPLAINED[action]}</p>
        <footer>
          {changed.now ? (
            <button type="button" onClick={onClose}>
              Close and look again
            </button>
          ) : (
            <>
              <button
                type="submit"
                class={["deny", "rollback", "revoke"].includes(action) ? "danger" : ""}
                aria-disabled={busy}
                aria-busy={busy}
              >
                {busy ? "Sending…" : confirmLabel(action, person ? name.trim() : "")}
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

const confirmLabel = (action: Action, name: string): string =>
  name === "" ? `${ACTION_LABEL[action]} now` : `${ACTION_LABEL[action]} as ${name}`;

/** The change as it is now, once it is no longer what the dialog shows. */
function useChangedSince(change: ChangeDetail, maybeOwn: boolean) {
  const [now, setNow] = useState<ChangeDetail | undefined>();
  const own = useRef(maybeOwn);
  own.current = maybeOwn;
  const look = async () => {
    const path = `api/product/changes/${encodeURIComponent(change.change_id)}`;
    const found = await get<ChangeDetail>(path).catch(() => undefined);
    if (found && found.revision !== change.revision && !own.current) setNow(found);
  };
  useEffect(
    () =>
      onNews((news) => {
        if (own.current) return;
        if (news === null || (news.type === "audit" && news.data.change_id === change.change_id)) void look();
      }),
    [],
  );
  return { now, look };
}

function ChangedSince({ now, error }: { now: ChangeDetail; error: unknown }) {
  const time = useNow();
  return (
    <Notice tone="warn" alert>
      <p>
        <strong>Changed since you opened it.</strong> Nothing of yours was recorded.{" "}
        <Sentence parts={standingOf(now, time)} />
      </p>
      {error instanceof Refused && (
        <p class="quiet">
          <Given text={error.message} />
        </p>
      )}
    </Notice>
  );
}

const SendFailure = ({ error }: { error: unknown }) => (
  <>
    <Failure error={error} alert tokenHint={tokenHint("above")} />
    {error instanceof Unreachable && (
      <p class="quiet">
        It may have arrived. Send it again as it is: the service answers a repeated request and does it once.
      </p>
    )}
  </>
);
