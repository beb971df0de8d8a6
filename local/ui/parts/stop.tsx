/** The Stop dialog of every page: freezes the service, or rolls back one of the newest applied changes. */
import { useState } from "preact/hooks";
import { findActiveFreeze } from "../../../lib/changes/rules/current_state.ts";
import { useNow } from "../core/hooks.tsx";
import { navigate, href } from "../core/router.tsx";
import { useFind, useServiceState } from "../core/shared.ts";
import { describeBriefly } from "../domain/sentences.ts";
import { Dialog } from "./dialog.tsx";
import { ServiceDialog } from "./service_dialog.tsx";
import { Pending } from "./notice.tsx";
import { UserText, Sentence } from "./text.tsx";
import { Age } from "./time.tsx";

const MAX_ROWS = 8;

export function StopDialog({ onClose }: { onClose: () => void }) {
  const [freezing, setFreezing] = useState(false);
  const { data: state } = useServiceState();
  const { data, error } = useFind("is:applied sort:applied", { limit: MAX_ROWS, concerns: () => false });
  const freeze = findActiveFreeze(state?.freeze, useNow());
  if (freezing) return <ServiceDialog action="freeze" onClose={onClose} />;
  return (
    <Dialog title="Freeze or roll back" onClose={onClose}>
      <button type="button" class="danger" data-first onClick={() => setFreezing(true)}>
        {freeze ? "Freeze for longer…" : "Freeze…"}
      </button>
      <p class="quiet">A freeze stops every apply until it is lifted. A rollback is always possible.</p>
      <h3>Applied last</h3>
      {!data && <Pending error={error} what="what was applied" />}
      {data?.rows.length === 0 && <p class="quiet">No change is applied.</p>}
      <ul class="rows">
        {data?.rows.map((row) => (
          <li key={row.change_id} class="applied-row">
            <span>
              <UserText text={row.summary || row.target} />
              <small class="quiet">
                <Sentence parts={describeBriefly(row)} />, <Age at={row.applied_at!} />
              </small>
            </span>
            <button
              type="button"
              class="danger outline small"
              onClick={() => {
                onClose();
                navigate(href(["changes", row.change_id], { do: "rollback" }));
              }}
            >
              Roll back…
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
