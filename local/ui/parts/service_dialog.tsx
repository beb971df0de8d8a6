/** Actions on the service itself: freeze it, lift the freeze, accept the clock. */
import { useState } from "preact/hooks";
import { clockBehind } from "../core/api.ts";
import { formatDateTime } from "../core/format.ts";
import { makeSignableAction } from "../domain/statement.ts";
import { type ActionForm, ActionDialog } from "./action_dialog.tsx";
import { Line } from "./field.tsx";

const SERVICE_ACTIONS = {
  freeze: {
    title: "Freeze the service?",
    path: "api/product/freeze",
    label: "Freeze",
    decision: "freeze",
    says: "freezes the service",
    explanation:
      "Nothing is applied until it is lifted or over, except what is approved as an emergency. A rollback is always possible.",
    noteHint: "Why? Everybody who wants to apply something will read it.",
  },
  accept_clock: {
    title: "Date entries by the clock as it is?",
    path: "api/product/audit/accept-clock",
    label: "Accept the clock",
    decision: "accept_clock",
    says: "accepts the clock as it is",
    explanation:
      "One entry is written that is dated before the one before it, and stands in the log for ever; after it everything is taken again. Set the clock right first.",
    noteHint: "What was wrong with the clock, and until when? It stays on record.",
  },
  unfreeze: {
    title: "Lift the freeze?",
    path: "api/product/unfreeze",
    label: "Lift it",
    decision: "unfreeze",
    says: "lifts the freeze",
    explanation: "What is approved can be applied again.",
    noteHint: "Why now? It stays on record.",
  },
} as const satisfies Record<string, ActionForm>;

/** Dialog of an action on the service: asks for a note, and for the end of a freeze. */
export function ServiceDialog(props: { act: keyof typeof SERVICE_ACTIONS; onClose: () => void; onDone?: () => void }) {
  const { act, onClose, onDone = onClose } = props;

  const [local, setUntil] = useState("");
  const until = local === "" ? undefined : new Date(local).toISOString();
  const done = () => {
    if (act === "accept_clock") clockBehind.set(false);
    onDone();
  };
  return (
    <ActionDialog
      of={SERVICE_ACTIONS[act]}
      fields={{ until }}
      signed={{
        signable: ({ name, note }) => makeSignableAction({ actor: name, note, until, decision: act }),
        facts: until === undefined ? [] : [["Until", formatDateTime(until)]],
      }}
      onClose={onClose}
      onDone={done}
    >
      {(faultOf) =>
        act === "freeze" && (
          <Line
            label="Until"
            hint="In your time zone. Left empty, it lasts until somebody lifts it."
            type="datetime-local"
            value={local}
            onValue={setUntil}
            error={faultOf("until")}
          />
        )
      }
    </ActionDialog>
  );
}
