/** Actions on the service itself: freeze it, lift the freeze, accept the clock. Without `path`: `api/product/<decision>`. */
import { useState } from "preact/hooks";
import { clockBehind } from "../core/api.ts";
import { formatDateTime } from "../core/format.ts";
import { makeSignableAction } from "../domain/statement.ts";
import { type ActionForm, ActionDialog } from "./action_dialog.tsx";
import { Line } from "./field.tsx";

const SERVICE_ACTIONS = {
  freeze: {
    title: "Freeze the service?",
    label: "Freeze",
    decision: "freeze",
    says: "freezes the service",
    explanation:
      "Until the freeze is lifted or ends, only changes approved as an emergency are applied. A rollback is always possible.",
    noteHint: "Why? It is shown to everyone who wants to apply a change.",
  },
  accept_clock: {
    title: "Accept the clock?",
    path: "api/product/audit/accept-clock",
    label: "Accept the clock",
    decision: "accept_clock",
    says: "accepts the clock",
    explanation:
      "Writes an entry dated before its predecessor, which stays in the log forever. After it, all writes are accepted again. Set the clock right first.",
    noteHint: "What was wrong with the clock, and until when? It stays on record.",
  },
  unfreeze: {
    title: "Lift the freeze?",
    label: "Lift it",
    decision: "unfreeze",
    says: "lifts the freeze",
    explanation: "Approved changes can be applied again.",
    noteHint: "Why now? It stays on record.",
  },
} as const satisfies Record<string, ActionForm>;

/** Dialog of an action on the service: asks for a note, and for the end of a freeze. */
export function ServiceDialog(props: {
  action: keyof typeof SERVICE_ACTIONS;
  onClose: () => void;
  onDone?: () => void;
}) {
  const { action, onClose, onDone = onClose } = props;
  const [localTime, setLocalTime] = useState("");
  const until = localTime === "" ? undefined : new Date(localTime).toISOString();
  const done = () => {
    if (action === "accept_clock") clockBehind.set(false);
    onDone();
  };
  return (
    <ActionDialog
      of={SERVICE_ACTIONS[action]}
      fields={{ until }}
      signed={{
        signable: ({ name, note }) => makeSignableAction({ actor: name, note, until, decision: action }),
        facts: until === undefined ? [] : [["Until", formatDateTime(until)]],
      }}
      onClose={onClose}
      onDone={done}
    >
      {(faultOf) =>
        action === "freeze" && (
          <Line
            label="Until"
            hint="In your time zone. Left empty, it lasts until somebody lifts it."
            type="datetime-local"
            value={localTime}
            onValue={setLocalTime}
            error={faultOf("until")}
          />
        )
      }
    </ActionDialog>
  );
}
