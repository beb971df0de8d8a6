/** The dialogs that narrow and revoke a mandate. */
import { useState } from "preact/hooks";
import type { MandateDetail } from "../../core/api_types.ts";
import { decideMandate } from "../../domain/mandates.ts";
import { ActionDialog } from "../../parts/action_dialog.tsx";
import { Line } from "../../parts/field.tsx";

export type MandateAction = "narrow" | "revoke";

const ACTIONS = {
  narrow: {
    title: "Narrow this mandate?",
    path: "api/product/mandate-narrow",
    verb: "Narrow",
    decision: "mandate_narrow",
    says: "narrows this mandate",
    explained: "Bounds only become smaller. For more, make a new mandate.",
    noteHint: "Why? It stays on record.",
    person: "approver",
  },
  revoke: {
    title: "Revoke this mandate?",
    path: "api/product/mandate-revoke",
    verb: "Revoke",
    decision: "mandate_revoke",
    says: "revokes this mandate",
    explained: "It ends now. What it approved and what is not applied yet needs people.",
    noteHint: "Why? It stays on record.",
    person: "approver",
  },
} as const;

/** Bounds that the dialog makes smaller. */
const NUMBERS = [
  ["max_per_day", "Changes a day"],
  ["max_open", "Waiting to be applied"],
  ["max_affected_users", "Users affected by a change"],
] as const;

const LISTS = ["targets", "kinds", "tenants"] as const;

/** Asks for what the decision needs. */
export function DecideMandate({
  action,
  mandate,
  onClose,
  onDone,
}: {
  action: MandateAction;
  mandate: MandateDetail;
  onClose: () => void;
  onDone: () => void;
}) {
  const [text, setText] = useState<Readonly<Record<string, string>>>({});
  const [dropped, setDropped] = useState<readonly string[]>([]);
  const numbers = NUMBERS.flatMap(([bound]) => (text[bound]?.trim() ? [[bound, Number(text[bound])] as const] : []));
  const lists = LISTS.flatMap((bound) => {
    const given = mandate[bound];
    const left = given === "all" ? [] : given.filter((one) => !dropped.includes(`${bound} ${one}`));
    return given === "all" || left.length === given.length ? [] : [[bound, left] as const];
  });
  const until = text["until"] ? [["until", new Date(text["until"]).toISOString()] as const] : [];
  const narrow = action === "narrow" ? Object.fromEntries([...numbers, ...lists, ...until]) : undefined;
  return (
    <ActionDialog
      of={ACTIONS[action]}
      fields={{ mandate_id: mandate.mandate_id, narrow: narrow && JSON.stringify(narrow) }}
      matter={({ actor, note }) => decideMandate(ACTIONS[action].decision, mandate, { approver: actor, note }, narrow)}
      onClose={onClose}
      onDone={onDone}
    >
      {action === "narrow"
        ? (faultOf) => (
            <>
              {NUMBERS.map(([bound, label], index) => (
                <Line
                  key={bound}
                  label={label}
                  hint={`Now ${mandate[bound] ?? "any number"}.`}
                  inputMode="numeric"
                  value={text[bound] ?? ""}
                  onValue={(given) => setText({ ...text, [bound]: given })}
                  error={index === 0 ? faultOf("narrow") : undefined}
                  first={index === 0}
                />
              ))}
              <Line
                label="Ends"
                hint="Earlier than now. Empty: as it is."
                type="datetime-local"
                value={text["until"] ?? ""}
                onValue={(given) => setText({ ...text, until: given })}
              />
              {LISTS.map((bound) => {
                const given = mandate[bound];
                if (given === "all" || given.length < 2) return null;
                return (
                  <fieldset key={bound}>
                    <legend>Keep these {bound}</legend>
                    {given.map((one) => {
                      const name = `${bound} ${one}`;
                      return (
                        <label key={one} class="check">
                          <input
                            type="checkbox"
                            checked={!dropped.includes(name)}
                            onChange={({ currentTarget: { checked } }) =>
                              setDropped(checked ? dropped.filter((drop) => drop !== name) : [...dropped, name])
                            }
                          />
                          <span>{one}</span>
                        </label>
                      );
                    })}
                  </fieldset>
                );
              })}
            </>
          )
        : undefined}
    </ActionDialog>
  );
}
