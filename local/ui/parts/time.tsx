import { formatDateTime, formatRelativeTime } from "../core/format.ts";
import { useNow } from "../core/hooks.tsx";

/** When something was: how long ago, and the exact time on asking. */
export function Age({ at }: { at: string | number }) {
  const now = useNow();
  const iso = new Date(at).toISOString();
  return (
    <time dateTime={iso} title={iso}>
      {formatRelativeTime(at, now)}
    </time>
  );
}

/** When something was: day and time. */
export const Moment = ({ at }: { at: string }) => (
  <time dateTime={at} title={at}>
    {formatDateTime(at)}
  </time>
);
