import { type Draft, type EntryDraft, removeEntry } from "../../domain/draft.ts";
import { formOf, valueOf } from "../../domain/kinds.ts";
import { Line } from "../../parts/field.tsx";
import { ValueField } from "./value_field.tsx";

/** Targets of a plan at most. */
export const MAX_ENTRIES = 20;

/** The targets of a plan, each with its value. */
export function PlanEntries({
  draft,
  onDraft,
  fault,
}: {
  draft: Draft;
  onDraft: (draft: Draft) => void;
  fault: string | undefined;
}) {
  const { kind, sets = [] } = draft;
  const set = (index: number, typed: Partial<EntryDraft>) =>
    onDraft({ ...draft, sets: sets.map((entry, at) => (at === index ? { ...entry, ...typed } : entry)) });
  return (
    <>
      {sets.map((entry, index) => (
        <fieldset key={index} class="plan-entry">
          <legend>Target {index + 1}</legend>
          <div class="grid">
            <Line
              label={`Tenant of target ${index + 1}`}
              value={entry.tenant_id}
              onValue={(tenant_id) => set(index, { tenant_id })}
              maxLength={200}
              list="tenants"
              required
            />
            <Line
              label={`Target ${index + 1}`}
              value={entry.target}
              onValue={(target) => set(index, { target })}
              maxLength={200}
              list="targets"
              required
            />
          </div>
          <ValueField
            kind={kind}
            value={entry.value}
            onValue={(value) => set(index, { value })}
            fault={valueOf(formOf(kind, entry.value), entry.value).fault}
          />
          <button type="button" class="link" onClick={() => onDraft(removeEntry(draft, index))}>
            Remove target {index + 1}
          </button>
        </fieldset>
      ))}
      {fault && <small class="error">{fault}</small>}
    </>
  );
}
