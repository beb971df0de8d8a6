import { useState } from "preact/hooks";
import { makeSignableAction } from "../../domain/statement.ts";
import { formatTitle } from "../../domain/statuses.ts";
import { type ActionForm, ActionDialog } from "../../parts/action_dialog.tsx";
import { Line } from "../../parts/field.tsx";

const FEED: ActionForm = {
  label: "Save",
  title: "Enter KPI values",
  path: "api/product/kpi",
  decision: "feed_kpis",
  says: "enters these KPI values",
  explanation: "Fields left empty keep their value. One invalid number rejects them all.",
  noteHint: "Where do the values come from?",
  isNameless: true,
};

/** Feeds the KPIs that are filled in. */
export function FeedDialog({ names, onClose }: { names: readonly string[]; onClose: () => void }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const stated = Object.entries(values).flatMap(([kpi, text]) => (text.trim() ? [[kpi, text.trim()] as const] : []));
  const kpis = Object.fromEntries(stated.map(([kpi, text]) => [kpi, Number(text)]));
  return (
    <ActionDialog
      of={FEED}
      fields={Object.fromEntries(stated)}
      signed={{
        signable: ({ name, note }) => makeSignableAction({ decision: "feed_kpis", actor: name, note, kpis }),
        facts: stated.map(([kpi, text]) => [formatTitle(kpi), text]),
      }}
      onClose={onClose}
      onDone={onClose}
    >
      {(faultOf) => (
        <div class="grid">
          {names.map((kpi, index) => (
            <Line
              key={kpi}
              label={formatTitle(kpi)}
              inputMode="decimal"
              value={values[kpi] ?? ""}
              onValue={(text) => setValues({ ...values, [kpi]: text })}
              error={faultOf(kpi)}
              first={index === 0}
            />
          ))}
        </div>
      )}
    </ActionDialog>
  );
}
