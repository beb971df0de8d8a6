import { useState } from "preact/hooks";
import type { ActionList, ActionName, ActionRecord } from "../../core/api_types.ts";
import { get, post } from "../../core/api.ts";
import { useResource } from "../../core/resource.tsx";
import { type Mark as MarkOf, titled } from "../../domain/statuses.ts";
import { Mark } from "../../parts/mark.tsx";
import { Failure, Pending } from "../../parts/notice.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Json } from "../../parts/text.tsx";
import { Age } from "../../parts/time.tsx";

const NAMES: readonly ActionName[] = [
  "cycle", "verify_audit", "check_drift", "evaluate_outcomes", "sync_peers", "run_next_task", "write_report", "checkpoint",
]; // prettier-ignore

const STATUS: Readonly<Record<ActionRecord["status"], MarkOf>> = {
  running: { word: "Running", shape: "half", tone: "wait" },
  completed: { word: "Completed", shape: "check", tone: "good" },
  failed: { word: "Failed", shape: "bang", tone: "bad" },
  disabled: { word: "Off here", shape: "ring", tone: "quiet" },
  interrupted: { word: "Interrupted", shape: "cross", tone: "warn" },
};

const SHOWN = 8;

/** What can be run now instead of waiting for the cycle, and what was run. */
export function Actions() {
  const { data, error, reload } = useResource("actions", (signal) =>
    get<ActionList>("api/action/list", { limit: SHOWN }, signal),
  );
  const [running, setRunning] = useState<ActionName | undefined>();
  const [failure, setFailure] = useState<unknown>();
  const run = async (action: ActionName) => {
    if (running) return;
    setRunning(action);
    setFailure(undefined);
    try {
      await post<ActionRecord>("api/action/run-now", { action });
    } catch (refused) {
      setFailure(refused);
    }
    setRunning(undefined);
    await reload();
  };
  return (
    <Panel title="Run now">
      {!data && <Pending error={error} what="actions" />}
      {data && (
        <>
          <div class="buttons" role="group" aria-label="Run now">
            {(data.available ?? NAMES).map((action) => (
              <button
                key={action}
                type="button"
                class="secondary small"
                aria-disabled={running !== undefined}
                aria-busy={running === action}
                onClick={() => void run(action)}
              >
                {titled(action)}
              </button>
            ))}
          </div>
          <Failure error={failure} alert />
          <ul class="plain history" aria-live="polite">
            {data.actions.slice(0, SHOWN).map((one) => (
              <li key={one.action_id}>
                <details class="inline">
                  <summary>
                    <Mark of={STATUS[one.status]} /> {titled(one.action)}{" "}
                    <span class="quiet">
                      <Age at={one.started_at} />
                      {one.duration_ms !== null && `, ${one.duration_ms} ms`}
                    </span>
                  </summary>
                  <Json label={`Result of ${one.action}`} of={one.result} />
                </details>
              </li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}
