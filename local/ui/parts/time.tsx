import { formatDateTime, formatRelativeTime } from "../core/format.ts";
import { useNow } from "../core/hooks.tsx";

/** A time relative to now, with the exact time as title. */
export function Age({ at }: { at: string | number }) {
  const now = useNow();
  const iso = new Date(at).toISOString();
  return (
    <time dateTime={iso} title={iso}>
      {formatRelativeTime(at, now)}
    </time>
  );
}

export const Moment = ({ at }: { at: string }) => (
  <time dateTime={at} title={at}>
    {formatDateTime(at)}
  </time>
);
