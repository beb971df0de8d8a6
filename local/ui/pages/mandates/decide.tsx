/** Decisions on a mandate: it is signed or resumed in one tap, narrowed and revoked in a dialog. */
import { useState } from "preact/hooks";
import type { MandateDetail } from "../../core/api_types.ts";
import { decideMandate } from "../../domain/mandates.ts";
import { type Act, ActDialog, OneTap } from "../../parts/act.tsx";
import { CheckList, Line } from "../../parts/field.tsx";

const ACT = { person: "approver", noteHint: "Why? It stays on record." } as const;

const ACTS = {
  sign: {
    ...ACT,
    label: "Sign",
    title: "Sign this mandate?",
    path: "api/product/mandate-sign",
    decision: "mandate",
    says: "lets this agent do all that stands above, alone",
    explained: "",
  },
  resume: {
    ...ACT,
    label: "Resume",
    title: "Resume this mandate?",
    path: "api/product/mandate-resume",
    decision: "mandate_resume",
    says: "resumes this mandate",
    explained: "",
  },
  narrow: {
    ...ACT,
    label: "Narrow",
    title: "Narrow this mandate?",
    path: "api/product/mandate-narrow",
    decision: "mandate_narrow",
    says: "narrows this mandate",
    explained: "Bounds only become smaller. For more, make a new mandate.",
  },
  revoke: {
    ...ACT,
    label: "Revoke",
    title: "Revoke this mandate?",
    path: "api/product/mandate-revoke",
    decision: "mandate_revoke",
    says: "revokes this mandate",
    explained: "It ends now. What it approved and what is not applied yet needs people.",
  },
} as const satisfies Record<string, Act>;

/** Has a draft, or the resumption of a suspended mandate, signed. */
export function SignMandate({ mandate, name, onDone }: { mandate: MandateDetail; name: string; onDone: () => void }) {
  const act = ACTS[mandate.state === "draft" ? "sign" : "resume"];
  return (
    <OneTap
      of={act}
      name={name}
      fields={{ mandate_id: mandate.mandate_id }}
      signed={{
        matter: (by) => decideMandate(act.decision, mandate, by),
        facts: [["Mandate", <code>{mandate.mandate_id}</code>]],
      }}
      onDone={onDone}
    />
  );
}

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
  action: "narrow" | "revoke";
  mandate: MandateDetail;
  onClose: () => void;
  onDone: () => void;
}) {
  const [text, setText] = useState<Readonly<Record<string, string>>>({});
  const [left, setLeft] = useState<Readonly<Record<string, readonly string[]>>>({});
  const numbers = NUMBERS.flatMap(([bound]) => (text[bound]?.trim() ? [[bound, Number(text[bound])] as const] : []));
  const until = text["until"] ? { until: new Date(text["until"]).toISOString() } : {};
  const narrow = action === "narrow" ? { ...Object.fromEntries(numbers), ...left, ...until } : undefined;
  const act = ACTS[action];
  const field = (bound: string) => ({
    value: text[bound] ?? "",
    onValue: (given: string) => setText({ ...text, [bound]: given }),
  });
  return (
    <ActDialog
      of={act}
      fields={{ mandate_id: mandate.mandate_id, narrow: narrow && JSON.stringify(narrow) }}
      signed={{ matter: (by) => decideMandate(act.decision, mandate, by, narrow) }}
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
              const given = mandate[bound];
              if (given === "all" || given.length < 2) return null;
              return (
                <CheckList
                  key={bound}
                  legend={`Keep these ${bound}`}
                  options={given}
                  chosen={left[bound] ?? given}
                  onChosen={(chosen) => setLeft({ ...left, [bound]: chosen })}
                />
              );
            })}
          </>
        )
      }
    </ActDialog>
  );
}
