import type { Kind } from "../../core/api_types.ts";
import { formOf, KINDS, type ValueDraft } from "../../domain/kinds.ts";
import { Choice, Line, Lines } from "../../parts/field.tsx";

/** The field of a value, in the form of its kind. */
export function ValueField({
  kind,
  value,
  onValue,
  fault,
}: {
  kind: Kind;
  value: ValueDraft;
  onValue: (value: ValueDraft) => void;
  fault: string | undefined;
}) {
  const form = formOf(kind, value);
  const { hint } = KINDS[value.as_json ? "config" : kind];
  const set = (typed: Partial<ValueDraft>) => onValue({ ...value, ...typed });
  switch (form) {
    case "switch":
      return (
        <Choice
          label="New value"
          hint={hint}
          error={fault}
          value={value.enabled}
          onValue={(enabled) => set({ enabled: enabled as ValueDraft["enabled"] })}
          options={[
            ["", "not stated: the change sets nothing"],
            ["on", "on"],
            ["off", "off"],
          ]}
        />
      );
    case "split":
      return (
        <Line
          label="New variant, in percent"
          hint={hint}
          error={fault}
          inputMode="decimal"
          value={value.percent}
          onValue={(percent) => set({ percent })}
        />
      );
    default:
      return (
        <Lines
          label={form === "patch" ? "Patch" : "New value"}
          hint={hint}
          error={fault}
          rows={form === "patch" ? 8 : 3}
          class="code"
          value={value.text}
          onValue={(text) => set({ text })}
        />
      );
  }
}
