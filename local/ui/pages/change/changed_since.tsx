import type { ChangeDetail } from "../../core/api_types.ts";
import { ServiceError } from "../../core/api.ts";
import { useNow } from "../../core/hooks.tsx";
import { describeStatus } from "../../domain/sentences.ts";
import { Notice } from "../../parts/notice.tsx";
import { UserText, Sentence } from "../../parts/text.tsx";

/** Explains that the change was altered meanwhile, with the error of the decision if it was sent. */
export function ChangedSince({ now, error }: { now: ChangeDetail; error: unknown }) {
  const time = useNow();
  return (
    <Notice tone="warn" alert>
      <p>
        <strong>Changed since you opened it.</strong> Nothing of yours was recorded.{" "}
        <Sentence parts={describeStatus(now, time)} />
      </p>
      {error instanceof ServiceError && (
        <p class="quiet">
          <UserText text={error.message} />
        </p>
      )}
    </Notice>
  );
}
