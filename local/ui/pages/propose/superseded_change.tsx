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

/** The superseded change, and the current value of its target if the proposal begins with that. */
export interface Superseding {
  of: ChangeDetail;
  take: FollowUp["take"];
  held: TargetValue;
}

/** Reads the change, and asks the host product where its value is wanted, before the form is shown. */
export function SupersededChange(props: {
  id: string;
  take: FollowUp["take"];
  children: (of: ChangeDetail, held: TargetValue) => ComponentChildren;
}) {
  const { id, take, children } = props;

  const path = `api/product/changes/${encodeURIComponent(id)}`;
  const found = useResource(`change ${id}`, (signal) => get<ChangeDetail>(path, {}, signal));
  const { data: read, error, loading } = found;
  // The form was begun from the change as it was then.
  const [of, begin] = useState<ChangeDetail | undefined>();
  const [held, setCurrent] = useState<{ held: TargetValue; error?: unknown } | undefined>(
    take ? undefined : { held: undefined },
  );
  useEffect(() => {
    if (read && !loading && !of) begin(read);
  }, [read, loading]);
  useEffect(() => {
    if (of && take)
      void readRestoredValue(of).then(setCurrent, (failure: unknown) =>
        setCurrent({ held: undefined, error: failure }),
      );
  }, [of]);
  if (of && held)
    return (
      <>
        <Failure error={held.error} />
        {children(of, held.held)}
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

async function readRestoredValue({ change_id, revision }: ChangeDetail): Promise<{ held: TargetValue }> {
  const fields = { change_id, dry_run: "true" };
  return { held: readHostValue(await post<Operation>("api/product/rollback", fields, { revision, key: null })) };
}

/** Preview of the effect on the change that is superseded. */
export function SupersedeNotice(props: Superseding & { draft: Draft; apart: string | undefined; blocks: boolean }) {
  const { of, take, held, draft, apart, blocks } = props;

  const isBlocked = blocks && isBlockingDraft(of, draft);
  return (
    <Notice tone={apart !== undefined || isBlocked ? "warn" : "wait"}>
      <p>
        {describeFollowUp(of, take)} <ChangeName of={of} />. <StatusBadge of={statusBadge(of)} />
      </p>
      {take && !held && (
        <p>
          {held === null
            ? "The host product holds nothing there now, so there is no value to propose."
            : "The host product does not say what it holds: state the value yourself."}
        </p>
      )}
      {apart !== undefined && (
        <p>
          As it stands this is a proposal of its own, since the other{" "}
          <UserText text={apart.replace(/^names a/, "is a")} />.
        </p>
      )}
      {isBlocked && (
        <p>The intent lets a target have one live change: the other has to be withdrawn or decided first.</p>
      )}
    </Notice>
  );
}
