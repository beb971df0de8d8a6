/** Mandates: signed ones and drafts, and the form of a new one. */
import type { Mandate } from "../core/api_types.ts";
import { formatCount } from "../core/format.ts";
import { useTitle } from "../core/hooks.tsx";
import { lazy } from "../core/lazy.tsx";
import { href } from "../core/router.tsx";
import { useIntent } from "../core/shared.ts";
import { MANDATE_BADGES, useMandates } from "../domain/mandates.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Notice, Pending } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { UserText } from "../parts/text.tsx";
import { Moment } from "../parts/time.tsx";

const DraftForm = lazy(() => import("./mandates/draft.tsx").then((part) => part.DraftForm));

export function MandatesPage() {
  const { data: intent, error: intentError } = useIntent();
  const { data, error } = useMandates();
  useTitle("Mandates");
  const rule = intent?.policy?.mandates;
  const hasEnded = ({ state }: Mandate) => state === "ended";
  return (
    <>
      <PageHead title="Mandates" lead="Changes that agents may make alone, signed by people." />
      {intent && !rule ? (
        <Notice tone="quiet">
          <p>
            The intent allows no mandates: it has no <code>policy.mandates</code>.
          </p>
        </Notice>
      ) : !data ? (
        <Pending error={error ?? intentError} what="the mandates" />
      ) : (
        <>
          <Panel title="In force and drafts">
            {data.mandates.every(hasEnded) ? (
              <p class="quiet">None.</p>
            ) : (
              <Rows of={data.mandates.filter((mandate) => !hasEnded(mandate))} />
            )}
            {data.mandates.some(hasEnded) && (
              <details>
                <summary>
                  {formatCount(data.mandates.filter(hasEnded).length, "mandate has", "mandates have")} ended
                </summary>
                <Rows of={data.mandates.filter(hasEnded)} />
              </details>
            )}
          </Panel>
          <DraftForm rule={rule!} />
        </>
      )}
    </>
  );
}

const Rows = ({ of }: { of: readonly Mandate[] }) => (
  <ul class="rows">
    {of.map((mandate) => (
      <li key={mandate.mandate_id}>
        <article class="row">
          <p class="row-title">
            <a data-row href={href(["mandates", mandate.mandate_id])}>
              <UserText text={`${mandate.agent}: ${mandate.targets.join(", ")}`} />
            </a>
          </p>
          <p class="row-meta">
            <StatusBadge of={MANDATE_BADGES[mandate.state]} />
            <span>
              {mandate.used.today} of {mandate.max_per_day} today
            </span>
            <span>
              until <Moment at={mandate.until} />
            </span>
          </p>
        </article>
      </li>
    ))}
  </ul>
);
