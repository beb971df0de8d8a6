/** Actions on the service itself: freezes it, lifts that, and accepts its clock. */
import { useState } from "preact/hooks";
import { clockBehind } from "../core/api.ts";
import { dateTime } from "../core/format.ts";
import { actOf } from "../domain/statement.ts";
import { type Action, ActionDialog } from "./action_dialog.tsx";
import { Line } from "./field.tsx";

const ACTS = {
  freeze: {
    title: "Freeze the service?",
    path: "api/product/freeze",
    verb: "Freeze",
    decision: "freeze",
    says: "freezes the service",
    explained:
      "Nothing is applied until it is lifted or over, except what is approved as an emergency. A rollback is always possible.",
    noteHint: "Why? Everybody who wants to apply something will read it.",
  },
  accept_clock: {
    title: "Date entries by the clock as it is?",
    path: "api/product/audit/accept-clock",
    verb: "Accept the clock",
    decision: "accept_clock",
    says: "accepts the clock as it is",
    explained:
      "One entry is written that is dated before the one before it, and stands in the log for ever; after it everything is taken again. Set the clock right first.",
    noteHint: "What was wrong with the clock, and until when? It stays on record.",
  },
  unfreeze: {
    title: "Lift the freeze?",
    path: "api/product/unfreeze",
    verb: "Lift it",
    decision: "unfreeze",
    says: "lifts the freeze",
    explained: "What is approved can be applied again.",
    noteHint: "Why now? It stays on record.",
  },
} as const satisfies Record<string, Action>;

/** Asks for what an action on the service needs. */
export function ActDialog({
  act,
  onClose,
  onDone = onClose,
}: {
  act: keyof typeof ACTS;
  onClose: () => void;
  onDone?: () => void;
}) {
  const [local, setUntil] = useState("");
  const until = local === "" ? undefined : new Date(local).toISOString();
  const action = ACTS[act];
  return (
    <ActionDialog
      of={{ ...action, unsigned: `${action.verb} now` }}
      fields={{ until }}
      facts={until === undefined ? [] : [["Until", dateTime(until)]]}
      matter={({ actor, note }) => actOf({ actor, note, until, decision: act })}
      onClose={onClose}
      onDone={() => {
        if (act === "accept_clock") clockBehind.set(false);
        onDone();
      }}
    >
      {act === "freeze"
        ? (faultOf) => (
            <Line
              label="Until"
              hint="In your time zone. Left empty, it lasts until somebody lifts it."
              type="datetime-local"
              value={local}
              onValue={setUntil}
              error={faultOf("until")}
              first
            />
          )
        : undefined}
    </ActionDialog>
  );
}
