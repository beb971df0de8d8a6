/** The change that a proposal supersedes: its value, and the effect on it. */
import { useEffect, useState } from "preact/hooks";
import type { ChangeDetail, Operation } from "../../core/api_types.ts";
import { get, post } from "../../core/api.ts";
import { useResource } from "../../core/resource.tsx";
import { describeFollowUp, isBlockingDraft, type FollowUp } from "../../domain/follow_ups.ts";
import type { Draft } from "../../domain/draft.ts";
import { readHostValue, type TargetValue } from "../../domain/plan.ts";
import { statusBadge } from "../../domain/statuses.ts";
import { ChangeName } from "../../parts/change_name.tsx";
import { StatusBadge } from "../../parts/badge.tsx";
import { Failure, Notice } from "../../parts/notice.tsx";
import { PendingPage } from "../../parts/panel.tsx";
import { UserText } from "../../parts/text.tsx";
import type { ComponentChildren } from "preact";

/** The superseded change, and with `take` the current value of its target, with which the proposal starts. */
export interface Superseding {
  of: ChangeDetail;
  take: FollowUp["take"];
  current: TargetValue;
}

/** Reads the change, and with `take` the current value of its target, before the form is shown. */
export function SupersededChange(props: {
  id: string;
  take: FollowUp["take"];
  children: (of: ChangeDetail, current: TargetValue) => ComponentChildren;
}) {
  const { id, take, children } = props;
  const path = `api/product/changes/${encodeURIComponent(id)}`;
  const resource = useResource(`change ${id}`, (signal) => get<ChangeDetail>(path, {}, signal));
  const { data: latest, error, loading } = resource;
  // The form starts from the first answer; later ones do not change it.
  const [of, setChange] = useState<ChangeDetail | undefined>();
  const [valueRead, setValueRead] = useState<ValueRead | undefined>(take ? undefined : { current: undefined });
  useEffect(() => {
    if (latest && !loading && !of) setChange(latest);
  }, [latest, loading]);
  useEffect(() => {
    if (of && take)
      void readCurrentValue(of).then(setValueRead, (failure: unknown) =>
        setValueRead({ current: undefined, error: failure }),
      );
  }, [of]);
  if (of && valueRead)
    return (
      <>
        <Failure error={valueRead.error} />
        {children(of, valueRead.current)}
      </>
    );
  return (
    <PendingPage
      title="Propose a change"
      error={of ? undefined : error}
      what={of ? "what the host product holds" : "the change"}
    />
  );
}

interface ValueRead {
  current: TargetValue;
  error?: unknown;
}

/** Reads the current value of the target by the dry run of a rollback. */
async function readCurrentValue({ change_id, revision }: ChangeDetail): Promise<ValueRead> {
  const fields = { change_id, dry_run: "true" };
  return { current: readHostValue(await post<Operation>("api/product/rollback", fields, { revision, key: null })) };
}

/** Preview of the effect on the superseded change; `problem`: text of `findDraftSupersedeProblem`, "names another …". */
export function SupersedeNotice(
  props: Superseding & { draft: Draft; problem: string | undefined; blocksConflicts: boolean },
) {
  const { of, take, current, draft, problem, blocksConflicts } = props;
  const isBlocked = blocksConflicts && isBlockingDraft(of, draft);
  return (
    <Notice tone={problem !== undefined || isBlocked ? "warn" : "wait"}>
      <p>
        {describeFollowUp(of, take)} <ChangeName of={of} />. <StatusBadge of={statusBadge(of)} />
      </p>
      {take && !current && (
        <p>
          {current === null
            ? "The host product has no value there now, so there is none to propose."
            : "The host product does not report its value: enter the value yourself."}
        </p>
      )}
      {problem !== undefined && (
        <p>
          This draft is a proposal of its own, since the other <UserText text={problem.replace(/^names a/, "is a")} />.
        </p>
      )}
      {isBlocked && <p>The intent allows one live change for each target: withdraw or decide the other one first.</p>}
    </Notice>
  );
}
