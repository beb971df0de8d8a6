import { useState } from "preact/hooks";
import { RISKS } from "../../../../lib/changes/rules/change_terms.ts";
import type { Kind } from "../../core/api_types.ts";
import { useFindHelp } from "../../core/shared.ts";
import { addEntry, type Draft } from "../../domain/draft.ts";
import { KINDS } from "../../domain/kinds.ts";
import { words } from "../../domain/statuses.ts";
import { Choice, Line, Lines } from "../../parts/field.tsx";
import { MAX_ENTRIES, PlanEntries } from "./plan_entries.tsx";
import { ValueField } from "./value_field.tsx";

/** The form's name, for the button that stands outside it: below what the policy will say. */
export const PROPOSAL_FORM = "proposal";

/** The form, in the order in which an approver will ask. */
export function ProposalForm({
  draft,
  onDraft,
  kpis,
  automations,
  isPromotion,
  valueFault,
  faultOf,
  onSend,
  onStartOver,
}: {
  draft: Draft;
  onDraft: (draft: Draft) => void;
  kpis: readonly string[];
  /** Entries of `policy.apply_when`. */
  automations: readonly string[];
  /** Kind and value are those of the change that is promoted. */
  isPromotion: boolean;
  valueFault: string | undefined;
  faultOf: (field: string) => string | undefined;
  onSend: () => void;
  /** Begins again; undefined while nothing is typed. */
  onStartOver: (() => void) | undefined;
}) {
  const { data: help } = useFindHelp();
  const kind = KINDS[draft.kind];
  const field = <K extends keyof Draft>(name: K) => ({
    name,
    value: draft[name] as string,
    onValue: (text: string) => onDraft({ ...draft, [name]: text }),
    error: faultOf(name),
  });
  return (
    <form
      id={PROPOSAL_FORM}
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      {!isPromotion && (
        <fieldset class="kinds">
          <legend>Kind</legend>
          {Object.entries(KINDS).map(([name, { title, meaning }]) => (
            <label key={name}>
              <input
                type="radio"
                name="kind"
                value={name}
                checked={draft.kind === name}
                onChange={() => onDraft({ ...draft, kind: name as Kind })}
              />
              <span>
                <strong>{title}</strong> <small class="quiet">{meaning}</small>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      <div class="grid">
        <Line label="Tenant" {...field("tenant_id")} maxLength={200} list="tenants" required />
        {!(isPromotion && draft.sets) && (
          <Line
            label={draft.sets ? "Name of the plan" : "Target"}
            hint={draft.sets && "Patterns of the intent judge it as a target; it is not set itself."}
            {...field("target")}
            maxLength={200}
            list="targets"
            placeholder={draft.sets ? "relaunch.december" : kind.target}
            required
          />
        )}
        {(["tenant", "target"] as const).map((name) => (
          <datalist key={name} id={`${name}s`}>
            {help?.fields
              .find(({ field: known }) => known === name)
              ?.values.map((value) => (
                <option key={value} value={value} />
              ))}
          </datalist>
        ))}
      </div>
      <Line label="Summary" hint="One line: what will be different." {...field("summary")} maxLength={500} required />
      {!isPromotion &&
        (draft.sets ? (
          <PlanEntries draft={draft} onDraft={onDraft} fault={faultOf("sets")} />
        ) : (
          <ValueField
            kind={draft.kind}
            value={draft.value}
            onValue={(value) => onDraft({ ...draft, value })}
            fault={valueFault ?? faultOf("value")}
          />
        ))}
      {!isPromotion && (draft.sets?.length ?? 1) < MAX_ENTRIES && (
        <button type="button" class="link" onClick={() => onDraft(addEntry(draft))}>
          Add another target
        </button>
      )}
      <Lines
        label="Rationale"
        hint="Why this, why now, and what speaks against it."
        rows={4}
        {...field("rationale")}
        maxLength={4000}
      />
      <div class="grid">
        <Choice
          label="KPI"
          {...field("kpi")}
          hint="What will show whether it was worth it."
          options={[["", "none"], ...kpis.map((kpi) => [kpi, words(kpi)] as const)]}
        />
        <Line
          label="Expected gain"
          {...field("expected_delta_k")}
          inputMode="decimal"
          hint="Improvement you expect, e.g. 0.02"
        />
        <Line label="People affected" {...field("affected_users")} inputMode="numeric" />
        <Choice
          label="Can it be undone?"
          {...field("reversible")}
          options={[
            ["", "not stated"],
            ["true", "yes"],
            ["false", "no"],
          ]}
        />
        <Choice
          label="Risk"
          {...field("risk")}
          options={[["", "not stated"], ...RISKS.map((risk) => [risk, risk] as const)]}
        />
        <Choice
          label="Tier"
          {...field("tier")}
          options={[
            ["", "standard"],
            ["minor", "minor, if the intent allows it"],
            ["major", "major"],
          ]}
        />
      </div>
      {automations.length > 1 && <ApplyWhen draft={draft} onDraft={onDraft} allowed={automations} />}
      {faultOf("apply_when") && <small class="error">{faultOf("apply_when")}</small>}
      <Line
        label="Proposer"
        {...field("proposer")}
        maxLength={200}
        autocomplete="username"
        hint="You. Only the proposer may withdraw it."
      />
      {onStartOver && (
        <button type="button" class="link" onClick={onStartOver}>
          Start over
        </button>
      )}
    </form>
  );
}

/** Asks who applies the change: a person, or the service once it is approved or at a time. */
function ApplyWhen({
  draft,
  onDraft,
  allowed,
}: {
  draft: Draft;
  onDraft: (draft: Draft) => void;
  allowed: readonly string[];
}) {
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
