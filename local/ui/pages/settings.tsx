/** The reader's keys, the health of the service, its reports, and its internals. */
import { useTitle } from "../core/hooks.tsx";
import { href } from "../core/router.tsx";
import { useCapabilities, useIntent, useServiceState } from "../core/shared.ts";
import { Failure, Pending, RuntimeOff } from "../parts/notice.tsx";
import { PageHead } from "../parts/panel.tsx";
import { Actions } from "./settings/actions.tsx";
import { Capabilities } from "./settings/capabilities.tsx";
import { ClockCheck } from "./settings/clock.tsx";
import { Figures } from "./settings/figures.tsx";
import { PeerTable } from "./settings/peers.tsx";
import { Reports } from "./settings/reports.tsx";

/** The page. */
export function SettingsPage() {
  const { data: state, error } = useServiceState();
  const { data: map } = useCapabilities();
  const { data: intent } = useIntent();
  useTitle("Settings");
  const off = map?.capabilities.some(({ id, status }) => id === "product_runtime" && status === "disabled");
  return (
    <>
      <PageHead title="Settings">
        {intent?.policy?.mandates && (
          <a class="button secondary" href={href(["mandates"])}>
            Mandates
          </a>
        )}
        <a class="button secondary" href={href(["you"])}>
          Your keys
        </a>
      </PageHead>
      <ClockCheck />
      {off && <RuntimeOff />}
      {error !== undefined && state && <Failure error={error} />}
      {!state || !map ? (
        <Pending error={error} what="the state" />
      ) : (
        <div class="columns">
          <div>
            <Capabilities map={map} />
          </div>
          <div>
            <Reports />
            <Figures state={state} />
            <PeerTable />
            <Actions />
          </div>
        </div>
      )}
    </>
  );
}
