/** What will really change: what is consented to beside what the host product holds now, asked when the page is opened. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { canonicalJson } from "../../../../lib/kit/canonical_json.ts";
import type { ChangeDetail, Operation } from "../../core/api_types.ts";
import { Refused } from "../../core/api.ts";
import { useIntent, useWhoami } from "../../core/shared.ts";
import { heldIn } from "../../domain/held.ts";
import { Failure, Notice } from "../../parts/notice.tsx";
import { Sides } from "./sides.tsx";
import { useRehearsal } from "./use_rehearsal.tsx";

/** Asks the host product about a change, by itself where the reader may; undefined while that is not known yet. */
export function useHostLook(change: ChangeDetail, operation: "apply" | "rollback") {
  const { data: intent } = useIntent();
  const { data: me } = useWhoami();
  const adapter = intent?.adapter;
  const may = me?.may.includes(operation) ?? false;
  const rehearsal = useRehearsal(change, operation, { auto: may && adapter !== null && adapter !== undefined });
  if (adapter === undefined || me === undefined) return undefined;
  return { ...rehearsal, may, adapter: adapter?.name ?? null };
}

/** The look of a change that waits; `before`: what the service set there last. Below it what is known without the host. */
export function HostLook({
  change,
  before,
  children,
}: {
  change: ChangeDetail;
  before: { value: unknown } | undefined;
  children: ComponentChildren;
}) {
  const look = useHostLook(change, "apply");
  if (look === undefined) return <>{children}</>;
  const { seen, adapter } = look;
  const shows = seen !== undefined && heldIn(seen.answer) !== undefined;
  return (
    <>
      {adapter === null ? (
        <p class="quiet">
          This service has no adapter, so there is no host product to ask: an apply is recorded, and nothing is carried
          anywhere.
        </p>
      ) : (
        <div class="dry-run">
          <Asked look={look} />
          {seen && <Found answer={seen.answer} before={before} />}
        </div>
      )}
      {!shows && children}
    </>
  );
}

/** When the host product was asked, and that it can be asked again. */
export function Asked({ look }: { look: NonNullable<ReturnType<typeof useHostLook>> }) {
  const { seen, error, busy, ask, may } = look;
  const moved = error instanceof Refused && error.refusal.status === 412;
  return (
    <>
      <p class="quiet" aria-busy={busy}>
        {busy
          ? "Asking the host product…"
          : seen
            ? null
            : may
              ? "The host product did not say what it holds. "
              : "What the host product holds is shown to those who may apply. "}
        {!busy && seen && <AskedAgo at={seen.at} />}{" "}
        {!busy && (
          <button type="button" class="link" onClick={ask}>
            {seen ? "Ask again" : "Ask the host product"}
          </button>
        )}
      </p>
      {!moved && <Failure error={error} />}
    </>
  );
}

function Found({ answer, before }: { answer: Operation; before: { value: unknown } | undefined }) {
  const { change } = answer;
  const host = heldIn(answer);
  const same = (a: { value: unknown } | null | undefined, b: { value: unknown }) =>
    a !== null && a !== undefined && canonicalJson(a.value) === canonicalJson(b.value);
  return (
    <>
      {change.value !== undefined && same(host, { value: change.value }) ? (
        <p>
          The host product <strong>holds this already</strong>.
        </p>
      ) : (
        host && (
          <p>
            Against what <strong>the host product holds now</strong>:
          </p>
        )
      )}
      <Sides answer={answer} />
      {before && host !== undefined && !same(host, before) && (
        <Notice tone="warn">
          <p>That is not what was set there last through this service: somebody changed it elsewhere.</p>
        </Notice>
      )}
    </>
  );
}

const TICK_MS = 5_000;

/** How old a look is, to the second. */
function AskedAgo({ at }: { at: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [at]);
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  const ago = seconds < 2 ? "just now" : seconds < 120 ? `${seconds} s ago` : `${Math.floor(seconds / 60)} min ago`;
  return <>The host product was asked {ago}, and nothing was changed.</>;
}
