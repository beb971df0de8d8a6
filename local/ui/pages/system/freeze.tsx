import { useState } from "preact/hooks";
import { inForce } from "../../../../lib/changes/rules/in_force.ts";
import type { State } from "../../core/api_types.ts";
import { useNow } from "../../core/hooks.tsx";
import { frozenBy } from "../../domain/freeze.ts";
import { ActDialog } from "../../parts/freeze.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Sentence } from "../../parts/text.tsx";
import { useAct } from "../../parts/use_act.tsx";

/** Whether applies are held back, and how to do it. */
export function Freezing({ state }: { state: State }) {
  const [open, setOpen] = useState(false);
  const lifting = useAct("unfreeze");
  const freeze = inForce(state.freeze, useNow());
  return (
    <Panel title="Freeze">
      <p>{freeze ? <Sentence parts={frozenBy(freeze)} /> : "Nothing holds applies back."}</p>
      <div class="buttons">
        <button type="button" class="secondary small" onClick={() => setOpen(true)}>
          {freeze ? "Freeze for longer…" : "Freeze…"}
        </button>
        {freeze && (
          <button type="button" class="secondary small" onClick={lifting.ask}>
            Lift it…
          </button>
        )}
      </div>
      {lifting.dialog}
      {open && <ActDialog act="freeze" onClose={() => setOpen(false)} />}
    </Panel>
  );
}
