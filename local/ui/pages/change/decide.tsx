/** The dialog of a decision, which applies to the change as it was when the dialog opened. */
import { useEffect, useRef, useState } from "preact/hooks";
import { isOpenChange } from "../../../../lib/changes/rules/current_state.ts";
import type { ChangeDetail, Decision, Operation } from "../../core/api_types.ts";
import { get } from "../../core/api.ts";
import { shortenHash } from "../../core/format.ts";
import { useNow } from "../../core/hooks.tsx";
import { type ServiceEvent, subscribeToEvents } from "../../core/live.ts";
import { listCautions, omitDescribed } from "../../domain/cautions.ts";
import { type ChangeAction, CHANGE_ACTIONS, makeActionFields, makeSignable } from "../../domain/change_actions.ts";
import { formatSentence } from "../../domain/messages.ts";
import { describeRequest, describeBriefly } from "../../domain/sentences.ts";
import { ActionDialog, OneTapForm, type SendOptions, type StatementTexts } from "../../parts/action_dialog.tsx";
import { LinkedMessage } from "../../parts/change_name.tsx";
import { Cautions, Notice } from "../../parts/notice.tsx";
import { UserText, Sentence, SentenceLine } from "../../parts/text.tsx";
import { UnopenedEntries } from "./decision_bar.tsx";
import { ChangedSince } from "./changed_since.tsx";
import { CurrentValue, HostPreview } from "./host_preview.tsx";

type Answer = Decision | Operation;

/** A recorded decision and its answer. */
export interface DecisionResult {
  action: ChangeAction;
  answer: Answer;
}

type DecisionProps = Omit<SendOptions<Answer>, "onDone" | "revision"> & {
  change: ChangeDetail;
  onDone: (decided: DecisionResult) => void;
};

const makeStatementTexts = (action: ChangeAction, change: ChangeDetail, over_drift?: true): StatementTexts => ({
  signable: makeSignable(action, change, over_drift),
  says: (
    <>
      {CHANGE_ACTIONS[action].says}: <Sentence parts={describeBriefly(change)} />
    </>
  ),
  facts: [["Content", <code title={change.digest}>{shortenHash(change.digest)}</code>]],
});

/** Approves with a key of the named person, without a dialog. */
export const ApproveInOneTap = ({ change, name, onDone, ...sending }: DecisionProps & { name: string }) => (
  <OneTapForm<Answer>
    {...sending}
    of={CHANGE_ACTIONS.approve}
    name={name}
    fields={makeActionFields("approve", change)}
    signed={makeStatementTexts("approve", change)}
    revision={change.revision}
    onDone={(answer) => onDone({ action: "approve", answer })}
  />
);

/** Decides on the shown revision of a change; `onNext` opens the next waiting change once the decision is recorded. */
export function DecideDialog(
  props: DecisionProps & {
    action: ChangeAction;
    onNext: ((decided: DecisionResult) => void) | undefined;
    onClose: () => void;
  },
) {
  const { change: opened, action, onDone, onNext, onRefused, onClose } = props;
  const actionForm = CHANGE_ACTIONS[action];
  const { newer, reread, inDoubt } = useNewerRevision(opened);
  // A rejected rollback records the drift, which raises the revision; the decision goes on with that revision.
  const [drifted, setDrifted] = useState(false);
  const [overwritesDrift, setOverwritesDrift] = useState(false);
  const isDriftOnly = drifted && newer?.status === "applied";
  const change = isDriftOnly ? newer : opened;
  const over_drift = (drifted && overwritesDrift) || undefined;
  const now = useNow();
  const isOperation = action === "apply" || action === "rollback";
  return (
    <ActionDialog<Answer>
      of={{ ...actionForm, isNoteRequired: actionForm.isNoteRequired || over_drift === true }}
      fields={makeActionFields(action, change, over_drift)}
      signed={makeStatementTexts(action, change, over_drift)}
      mustSign={over_drift === true}
      revision={change.revision}
      wide={isOperation || action === "restore"}
      inDoubt={inDoubt}
      stale={newer && !isDriftOnly ? (error) => <ChangedSince change={newer} error={error} /> : undefined}
      onDone={(answer) => onDone({ action, answer })}
      onNext={onNext && ((answer) => onNext({ action, answer }))}
      onRefused={onRefused}
      onStale={async ({ body }) => {
        if (body.code === "target_drifted") setDrifted(true);
        await reread();
      }}
      onClose={onClose}
      lead={(askToken) => (
        <>
          <SentenceLine class="lead" parts={describeRequest(change)} />
          <p>
            <UserText text={change.summary} />
          </p>
          {isOpenChange(change.status) && <Cautions of={listCautions(omitDescribed(change), now)} />}
          {action === "approve" && <UnopenedEntries change={change} />}
          {isOperation && <HostPreview change={change} operation={action} onToken={askToken} />}
          {action === "restore" && <CurrentValue change={change} />}
          {change.gates
            .filter(({ state }) => state === "warn")
            .map(({ gate, message }) => (
              <Notice key={gate} tone="warn">
                <LinkedMessage text={formatSentence(message)} related={change.related} />
              </Notice>
            ))}
        </>
      )}
    >
      {() =>
        drifted && (
          <label class="check">
            <input
              type="checkbox"
              checked={overwritesDrift}
              onChange={({ currentTarget }) => setOverwritesDrift(currentTarget.checked)}
            />
            <span>Roll back over what was set outside Countersign. It needs a note.</span>
          </label>
        )
      }
    </ActionDialog>
  );
}

/** Reads the change again once its revision is another; `inDoubt`: the reader's own request may have caused that. */
function useNewerRevision(change: ChangeDetail) {
  const [newer, setNewer] = useState<ChangeDetail | undefined>();
  const inDoubt = useRef(false);
  const reread = async () => {
    const path = `api/product/changes/${encodeURIComponent(change.change_id)}`;
    const found = await get<ChangeDetail>(path).catch(() => undefined);
    if (found && found.revision !== change.revision && !inDoubt.current) setNewer(found);
  };
  const rereadAfter = (event: ServiceEvent) => {
    if (inDoubt.current) return;
    if (event === null || (event.type === "audit" && event.data.change_id === change.change_id)) void reread();
  };
  useEffect(() => subscribeToEvents(rereadAfter), []);
  return { newer, reread, inDoubt };
}
