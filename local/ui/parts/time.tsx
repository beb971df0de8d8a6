/** Elements that show a moment, with the exact time as title. */
import { formatDateTime, formatRelativeTime } from "../core/format.ts";
import { useNow } from "../core/hooks.tsx";

/** A moment relative to now. */
export function Age({ at }: { at: string | number }) {
  const iso = new Date(at).toISOString();
  return (
    <time dateTime={iso} title={iso}>
      {formatRelativeTime(at, useNow())}
    </time>
  );
}

export const Moment = ({ at }: { at: string }) => (
  <time dateTime={at} title={at}>
    {formatDateTime(at)}
  </time>
);
