import type { ChangeDetail } from "../../core/api_types.ts";
import { ServiceError } from "../../core/api.ts";
import { useNow } from "../../core/hooks.tsx";
import { describeStatus } from "../../domain/sentences.ts";
import { Notice } from "../../parts/notice.tsx";
import { UserText, Sentence } from "../../parts/text.tsx";

/** Explains that the change was altered meanwhile, with the service's error if the decision was sent. */
export function ChangedSince({ change, error }: { change: ChangeDetail; error: unknown }) {
  const now = useNow();
  return (
    <Notice tone="warn" alert>
      <p>
        <strong>Changed since you opened it.</strong> Your decision was not recorded.{" "}
        <Sentence parts={describeStatus(change, now)} />
      </p>
      {error instanceof ServiceError && (
        <p class="quiet">
          <UserText text={error.message} />
        </p>
      )}
    </Notice>
  );
}
