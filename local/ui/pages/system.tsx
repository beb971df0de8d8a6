/** How the service itself stands, and why. */
import type { Trend } from "../core/api_types.ts";
import { get } from "../core/api.ts";
import { useTitle } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import { useCapabilities, useServiceState } from "../core/shared.ts";
import { Failure, Pending, RuntimeOff } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { Actions } from "./system/actions.tsx";
import { ClockCheck } from "./system/clock.tsx";
import { Capabilities, Phases } from "./system/capabilities.tsx";
import { Dimensions } from "./system/dimensions.tsx";
import { EvolvedFiles } from "./system/evolved.tsx";
import { GrowthLog } from "./system/growth.tsx";
import { PeerTable } from "./system/peers.tsx";
import { TrendChart } from "./system/trend.tsx";

/** E, M, R, N; what works; what was learnt; what can be run. */
export function SystemPage() {
  const { data: state, error } = useServiceState();
  const { data: map } = useCapabilities();
  const { data: trend, error: noTrend } = useResource("trend", (signal) => get<Trend>("api/l1l5_trend", {}, signal));
  useTitle("System");
  const off = map?.capabilities.some(({ id, status }) => id === "product_runtime" && status === "disabled");
  return (
    <>
      <PageHead
        title="System"
        lead={state && `After ${state.tick} cycles. Each value says what it was worked out from.`}
      />
      <ClockCheck />
      {off && <RuntimeOff />}
      {state ? <Dimensions state={state} /> : <Pending error={error} what="the state" />}
      {error !== undefined && state && <Failure error={error} />}
      <div class="columns">
        <div>
          {map && <Phases map={map} />}
          <Panel title="Levels of autonomy">
            {trend ? <TrendChart trend={trend} /> : <Pending error={noTrend} what="levels" />}
          </Panel>
          <EvolvedFiles />
          <Actions />
          <PeerTable />
        </div>
        <div>{map && <Capabilities map={map} />}</div>
      </div>
      <GrowthLog />
    </>
  );
}
