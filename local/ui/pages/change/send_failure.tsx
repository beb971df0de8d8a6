import { Unreachable } from "../../core/api.ts";
import { Failure, tokenHint } from "../../parts/notice.tsx";

/** Why a decision did not come through, and what to do; `where` is the place of the token. */
export const SendFailure = ({ error, where }: { error: unknown; where: string }) => (
  <>
    <Failure error={error} alert tokenHint={tokenHint(where)} />
    {error instanceof Unreachable && (
      <p class="quiet">
        It may have arrived. Send it again as it is: the service answers a repeated request and does it once.
      </p>
    )}
  </>
);
