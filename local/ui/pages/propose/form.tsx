/** The form of a proposal, in the order of an approver's questions. */
import { Button } from "../../parts/button.tsx";
import { useState } from "preact/hooks";
import { RISKS } from "../../../../lib/changes/rules/change_terms.ts";
import type { Kind } from "../../core/api_types.ts";
import { useFindHelp } from "../../core/shared.ts";
import { addEntry, type Draft, type DraftField, type EntryDraft, removeEntry } from "../../domain/draft.ts";
import { isSwitchValue, KINDS, parseValue } from "../../domain/kinds.ts";
import { formatTitle, humanizeName } from "../../domain/statuses.ts";
import { Choice, type FieldData, FieldList, Line, Suggestions } from "../../parts/field.tsx";

/** The form's id, for the submit button outside the form, below the preview. */
export const PROPOSAL_FORM = "proposal";

/** Maximum number of targets of a plan. */
export const MAX_ENTRIES = 20;

const TENANT = { name: "tenant_id", label: "Tenant", maxLength: 200, list: "tenants", required: true } as const;
const TARGET = { name: "target", label: "Target", maxLength: 200, list: "targets", required: true } as const;

/** Values of a flag; the last choice leads to a field for any other JSON. */
const OTHER = "other";
const SWITCH: FieldData<"value"> = {
  name: "value",
  label: "New value",
  options: [["", "not set"], ["true", "on"], ["false", "off"], [OTHER, "another value…"]],
}; // prettier-ignore

const valueField = (kind: Kind, error?: string): FieldData<"value"> => ({
  name: "value",
  label: kind === "code_patch" ? "Patch" : "New value",
  hint: KINDS[kind].hint,
  rows: kind === "code_patch" ? 8 : 3,
  class: "code",
  error,
});

const SUMMARY: FieldData<"summary">[] = [
  { name: "summary", label: "Summary", hint: "One line: what will be different.", maxLength: 500, required: true },
];

const RATIONALE: FieldData<"rationale">[] = [
  { name: "rationale", label: "Rationale", hint: "Why this change, why now, and what speaks against it.", rows: 4, maxLength: 4000 }, // prettier-ignore
];

const PROPOSER: FieldData<"proposer">[] = [
  { name: "proposer", label: "Proposer", hint: "You. Only the proposer may withdraw it.", maxLength: 200, autocomplete: "username" }, // prettier-ignore
];

const factFields = (kpis: readonly string[]): FieldData<DraftField>[] => [
  { name: "kpi", label: "KPI", hint: "The number by which its success will show.", options: [["", "none"], ...kpis.map((kpi) => [kpi, humanizeName(kpi)] as const)] }, // prettier-ignore
  { name: "expected_delta_k", label: "Expected gain", hint: "Improvement you expect, e.g. 0.02", inputMode: "decimal" },
  { name: "affected_users", label: "People affected", inputMode: "numeric" },
  { name: "reversible", label: "Can it be undone?", options: [["", "not stated"], ["true", "yes"], ["false", "no"]] }, // prettier-ignore
  { name: "risk", label: "Risk", options: [["", "not stated"], ...RISKS.map((risk) => [risk, risk] as const)] },
  { name: "tier", label: "Tier", options: [["", "standard"], ["minor", "minor, if the intent allows it"], ["major", "major"]] }, // prettier-ignore
];

export function ProposalForm(props: {
  draft: Draft;
  onDraft: (draft: Draft) => void;
  kpis: readonly string[];
  /** Entries of `policy.apply_when` but `manual`, which is always possible. */
  automations: readonly string[];
  /** Kind and value are those of the change that is promoted. */
  isPromotion: boolean;
  valueFault: string | undefined;
  faultOf: (field: string) => string | undefined;
  onSend: (event: Event) => void;
  /** Discards the draft; undefined while nothing is typed. */
  onStartOver: (() => void) | undefined;
}) {
  const { draft, onDraft, kpis, automations, isPromotion, valueFault, faultOf, onSend, onStartOver } = props;
  const { data: help } = useFindHelp();
  const { kind, sets } = draft;
  const onValue = (name: DraftField, text: string) => onDraft({ ...draft, [name]: text });
  const form = { values: draft, faultOf, onValue };
  const target: FieldData<"target"> = sets
    ? { ...TARGET, label: "Name of the plan", hint: "Patterns of the intent apply to it as to a target, but no value is set there.", placeholder: "relaunch.december" } // prettier-ignore
    : { ...TARGET, placeholder: KINDS[kind].target };
  return (
    <form id={PROPOSAL_FORM} onSubmit={onSend}>
      {!isPromotion && (
        <fieldset class="kinds">
          <legend>Kind</legend>
          {Object.entries(KINDS).map(([name, { meaning }]) => (
            <label key={name}>
              <input
                type="radio"
                name="kind"
                value={name}
                checked={kind === name}
                onChange={() => onDraft({ ...draft, kind: name as Kind })}
              />
              <span>
                <strong>{formatTitle(name)}</strong> <small class="quiet">{meaning}</small>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      <div class="grid">
        <FieldList {...form} of={isPromotion && sets ? [TENANT] : [TENANT, target]} />
        {(["tenant", "target"] as const).map((name) => (
          <Suggestions key={name} id={`${name}s`} names={help?.fields.find(({ field }) => field === name)?.values} />
        ))}
      </div>
      <FieldList {...form} of={SUMMARY} />
      {!isPromotion && !sets && (
        <ValueField kind={kind} value={draft.value} onValue={(text) => onValue("value", text)} error={valueFault} />
      )}
      {!isPromotion && sets && <PlanEntries draft={draft} onDraft={onDraft} fault={faultOf("sets")} />}
      {!isPromotion && (sets?.length ?? 1) < MAX_ENTRIES && (
        <Button class="link" onClick={() => onDraft(addEntry(draft))} label="Add another target" />
      )}
      <FieldList {...form} of={RATIONALE} />
      <div class="grid">
        <FieldList {...form} of={factFields(kpis)} />
      </div>
      {automations.length > 0 && <ApplyWhen draft={draft} onDraft={onDraft} allowed={automations} />}
      {faultOf("apply_when") && <small class="error">{faultOf("apply_when")}</small>}
      <FieldList {...form} of={PROPOSER} />
      {onStartOver && <Button class="link" onClick={onStartOver} label="Start over" />}
    </form>
  );
}

/** The new value: on or off for a flag unless another value is chosen, otherwise JSON or a patch. */
function ValueField(props: { kind: Kind; value: string; onValue: (text: string) => void; error: string | undefined }) {
  const { kind, value, onValue, error } = props;
  const [isOther, setOther] = useState(false);
  return (
    <FieldList
      of={[!isOther && isSwitchValue(kind, value) ? SWITCH : valueField(kind, error)]}
      values={{ value }}
      onValue={(_, text) => (text === OTHER ? setOther(true) : onValue(text))}
      faultOf={() => undefined}
    />
  );
}

function PlanEntries(props: { draft: Draft; onDraft: (draft: Draft) => void; fault: string | undefined }) {
  const { draft, onDraft, fault } = props;
  const { kind, sets = [] } = draft;
  const change = (index: number, fields: Partial<EntryDraft>) =>
    onDraft({ ...draft, sets: sets.map((entry, at) => (at === index ? { ...entry, ...fields } : entry)) });
  return (
    <>
      {sets.map((entry, index) => (
        <fieldset key={index} class="plan-entry">
          <legend>Target {index + 1}</legend>
          <FieldList
            of={[
              { ...TENANT, label: `Tenant of target ${index + 1}` },
              { ...TARGET, label: `Target ${index + 1}` },
            ]}
            values={entry}
            onValue={(name, text) => change(index, { [name]: text })}
            faultOf={() => undefined}
          />
          <ValueField
            kind={kind}
            value={entry.value}
            onValue={(value) => change(index, { value })}
            error={parseValue(kind, entry.value).fault}
          />
          <Button
            class="link"
            onClick={() => onDraft(removeEntry(draft, index))}
            label={`Remove target ${index + 1}`}
          />
        </fieldset>
      ))}
      {fault && <small class="error">{fault}</small>}
    </>
  );
}

/** Asks who applies the change: a person, or the service once it is approved or at a time. */
function ApplyWhen(props: { draft: Draft; onDraft: (draft: Draft) => void; allowed: readonly string[] }) {
  const { draft, onDraft, allowed } = props;
  const [scheduled, setScheduled] = useState(draft.apply_when !== "" && draft.apply_when !== "approved");
  const set = (apply_when: string) => onDraft({ ...draft, apply_when });
  return (
    <div class="grid">
      <Choice
        label="Apply"
        value={scheduled ? "scheduled" : draft.apply_when}
        onValue={(mode) => {
          setScheduled(mode === "scheduled");
          set(mode === "scheduled" ? "" : mode);
        }}
        options={[
          ["", "when a person does"],
          ...(allowed.includes("approved") ? [["approved", "as soon as it is approved"] as const] : []),
          ...(allowed.includes("scheduled") ? [["scheduled", "at a time"] as const] : []),
        ]}
      />
      {scheduled && (
        <Line
          label="At"
          hint="In your time zone. The service applies it then, if it is approved."
          type="datetime-local"
          required
          value={draft.apply_when}
          onValue={set}
        />
      )}
    </div>
  );
}
