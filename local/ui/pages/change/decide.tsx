/** The dialog in which a decision is made: about the change as it was when the dialog opened, and no other. */
import { useEffect, useRef, useState } from "preact/hooks";
import { isLive } from "../../../../lib/changes/rules/in_force.ts";
import type { ChangeDetail, Decision, Operation } from "../../core/api_types.ts";
import { get } from "../../core/api.ts";
import { brief } from "../../core/format.ts";
import { useNow } from "../../core/hooks.tsx";
import { onNews } from "../../core/live.ts";
import { listCautions } from "../../domain/cautions.ts";
import { type ChangeAction, CHANGE_ACTIONS, makeFields, makeMatter } from "../../domain/change_actions.ts";
import { formatSentence } from "../../domain/refusals.ts";
import { describeRequest, shortly } from "../../domain/sentences.ts";
import { ActDialog, OneTap, type Sending, type Signed } from "../../parts/act.tsx";
import { Named } from "../../parts/change_name.tsx";
import { Cautions } from "../../parts/cautions.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Given, Sentence } from "../../parts/text.tsx";
import { Unopened } from "../../parts/unopened.tsx";
import { ChangedSince } from "./changed_since.tsx";
import { HeldNow, HostLook } from "./host_look.tsx";

type Answer = Decision | Operation;

/** A decision and its answer. */
export interface Decided {
  action: ChangeAction;
  answer: Answer;
}

type Deciding = Omit<Sending<Answer>, "onDone" | "revision"> & {
  change: ChangeDetail;
  onDone: (decided: Decided) => void;
};

const signedOf = (action: ChangeAction, change: ChangeDetail, over_drift?: true): Signed => ({
  matter: makeMatter(action, change, over_drift),
  says: (
    <>
      {CHANGE_ACTIONS[action].says}: <Sentence parts={shortly(change)} />
    </>
  ),
  facts: [["Content", <code title={change.digest}>{brief(change.digest)}</code>]],
});

/** Approves with a key of the person whose name this is. */
export const ApproveInOneTap = ({ change, name, onDone, ...sending }: Deciding & { name: string }) => (
  <OneTap<Answer>
    {...sending}
    of={CHANGE_ACTIONS.approve}
    name={name}
    fields={makeFields("approve", change)}
    signed={signedOf("approve", change)}
    revision={change.revision}
    onDone={(answer) => onDone({ action: "approve", answer })}
  />
);

/** Decides on a change, under the revision that is shown; `onNext` goes on to what waits next once it is recorded. */
export function DecideDialog({
  change: opened,
  action,
  onDone,
  onNext,
  onRefused,
  onClose,
}: Deciding & {
  action: ChangeAction;
  onNext: ((decided: Decided) => void) | undefined;
  onClose: () => void;
}) {
  const act = CHANGE_ACTIONS[action];
  const { now: newer, look, inDoubt } = useNewer(opened);
  // A rollback that met a foreign edit is on record: the change is the same one, and is rolled back over the edit.
  const [drifted, setDrifted] = useState(false);
  const [isOver, setOver] = useState(false);
  const isSame = drifted && newer?.status === "applied";
  const change = (isSame && newer) || opened;
  const over_drift = (drifted && isOver) || undefined;
  const now = useNow();
  const isOperation = action === "apply" || action === "rollback";
  return (
    <ActDialog<Answer>
      of={{ ...act, isNoteRequired: act.isNoteRequired || over_drift === true }}
      fields={makeFields(action, change, over_drift)}
      signed={signedOf(action, change, over_drift)}
      mustSign={over_drift === true}
      revision={change.revision}
      wide={isOperation || action === "restore"}
      inDoubt={inDoubt}
      stale={newer && !isSame ? (error) => <ChangedSince now={newer} error={error} /> : undefined}
      onDone={(answer) => onDone({ action, answer })}
      onNext={onNext && ((answer) => onNext({ action, answer }))}
      onRefused={onRefused}
      onStale={async ({ refusal }) => {
        if (refusal.code === "target_drifted") setDrifted(true);
        await look();
      }}
      onClose={onClose}
      lead={(askToken) => (
        <>
          <p class="lead">
            <Sentence parts={describeRequest(change)} />
          </p>
          <p>
            <Given text={change.summary} />
          </p>
          {isLive(change.status) && <Cautions of={listCautions(change, now)} />}
          {action === "approve" && <Unopened change={change} />}
          {isOperation && <HostLook change={change} operation={action} onToken={askToken} />}
          {action === "restore" && <HeldNow change={change} />}
          {change.gates
            .filter(({ state }) => state === "warn")
            .map(({ gate, message }) => (
              <Notice key={gate} tone="warn">
                <Named text={formatSentence(message)} related={change.related} />
              </Notice>
            ))}
        </>
      )}
    >
      {() =>
        drifted && (
          <label class="check">
            <input type="checkbox" checked={isOver} onChange={({ currentTarget }) => setOver(currentTarget.checked)} />
            <span>Roll back over what was set outside Countersign. It needs a note.</span>
          </label>
        )
      }
    </ActDialog>
  );
}

/** The change as it is now, once it is no longer what the dialog shows; `inDoubt`: what moved it may be one's own doing. */
function useNewer(change: ChangeDetail) {
  const [now, setNow] = useState<ChangeDetail | undefined>();
  const inDoubt = useRef(false);
  const look = async () => {
    const path = `api/product/changes/${encodeURIComponent(change.change_id)}`;
    const found = await get<ChangeDetail>(path).catch(() => undefined);
    if (found && found.revision !== change.revision && !inDoubt.current) setNow(found);
  };
  useEffect(
    () =>
      onNews((news) => {
        if (inDoubt.current) return;
        if (news === null || (news.type === "audit" && news.data.change_id === change.change_id)) void look();
      }),
    [],
  );
  return { now, look, inDoubt };
}
