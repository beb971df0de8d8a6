/** Decisions on a mandate: signing and resuming in one tap, narrowing and revoking in a dialog. */
import { useState } from "preact/hooks";
import type { MandateDecision } from "../../../../lib/changes/rules/mandate.ts";
import type { MandateDetail } from "../../core/api_types.ts";
import { makeSignableMandate } from "../../domain/mandates.ts";
import { ActionDialog, OneTapForm, type RecordedAnswer } from "../../parts/action_dialog.tsx";
import { CheckList, Line } from "../../parts/field.tsx";

/** The label also makes the title and the path: `Sign` is sent to `mandate-sign`. */
const makeAction = (label: string, decision: MandateDecision, texts: { says: string; explanation?: string }) => ({
  label,
  title: `${label} this mandate?`,
  path: `api/product/mandate-${label.toLowerCase()}`,
  decision,
  person: "approver" as const,
  noteHint: "Why? It stays on record.",
  explanation: "",
  ...texts,
});

const MANDATE_ACTIONS = {
  sign: makeAction("Sign", "mandate", { says: "lets this agent make all changes listed above alone" }),
  resume: makeAction("Resume", "mandate_resume", { says: "resumes this mandate" }),
  narrow: makeAction("Narrow", "mandate_narrow", {
    says: "narrows this mandate",
    explanation: "Bounds only become smaller. For more, make a new mandate.",
  }),
  revoke: makeAction("Revoke", "mandate_revoke", {
    says: "revokes this mandate",
    explanation: "It ends now. Changes that it approved and that are not applied yet need approval by people.",
  }),
};

/** Signs a draft, or the resumption of a suspended mandate. */
export function SignMandate({ mandate, name, onDone }: { mandate: MandateDetail; name: string; onDone: () => void }) {
  const form = MANDATE_ACTIONS[mandate.state === "draft" ? "sign" : "resume"];
  return (
    <OneTapForm
      of={form}
      name={name}
      fields={{ mandate_id: mandate.mandate_id }}
      signed={{
        signable: (by) => makeSignableMandate(form.decision, mandate, by),
        facts: [["Mandate", <code>{mandate.mandate_id}</code>]],
      }}
      onDone={onDone}
    />
  );
}

/** Numeric bounds that can be narrowed. */
const NUMBERS = [
  ["max_per_day", "Changes a day"],
  ["max_open", "Waiting to be applied"],
  ["max_affected_users", "Users affected by a change"],
] as const;

const LISTS = ["targets", "kinds", "tenants"] as const;

export function DecideMandate(props: {
  action: "narrow" | "revoke";
  mandate: MandateDetail;
  onClose: () => void;
  onDone: (answer: RecordedAnswer) => void;
}) {
  const { action, mandate, onClose, onDone } = props;
  const [text, setText] = useState<Readonly<Record<string, string>>>({});
  const [keptValues, setKeptValues] = useState<Readonly<Record<string, readonly string[]>>>({});
  const numbers = NUMBERS.flatMap(([bound]) => (text[bound]?.trim() ? [[bound, Number(text[bound])] as const] : []));
  const until = text["until"] ? { until: new Date(text["until"]).toISOString() } : {};
  const narrow = action === "narrow" ? { ...Object.fromEntries(numbers), ...keptValues, ...until } : undefined;
  const form = MANDATE_ACTIONS[action];
  const field = (bound: string) => ({
    value: text[bound] ?? "",
    onValue: (value: string) => setText({ ...text, [bound]: value }),
  });
  return (
    <ActionDialog
      of={form}
      fields={{ mandate_id: mandate.mandate_id, narrow: narrow && JSON.stringify(narrow) }}
      signed={{ signable: (by) => makeSignableMandate(form.decision, mandate, by, narrow) }}
      onClose={onClose}
      onDone={onDone}
    >
      {(faultOf) =>
        action === "narrow" && (
          <>
            {NUMBERS.map(([bound, label], index) => (
              <Line
                key={bound}
                label={label}
                hint={`Now ${mandate[bound] ?? "any number"}.`}
                inputMode="numeric"
                {...field(bound)}
                error={index === 0 ? faultOf("narrow") : undefined}
                first={index === 0}
              />
            ))}
            <Line label="Ends" hint="Earlier than now. Empty: as it is." type="datetime-local" {...field("until")} />
            {LISTS.map((bound) => {
              const values = mandate[bound];
              if (values === "all" || values.length < 2) return null;
              return (
                <CheckList
                  key={bound}
                  legend={`Keep these ${bound}`}
                  options={values}
                  chosen={keptValues[bound] ?? values}
                  onChosen={(chosen) => setKeptValues({ ...keptValues, [bound]: chosen })}
                />
              );
            })}
          </>
        )
      }
    </ActionDialog>
  );
}
