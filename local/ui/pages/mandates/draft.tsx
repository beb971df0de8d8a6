/** The form of a new mandate; it allows nothing before people have signed it. */
import { useState } from "preact/hooks";
import type { MandatesRule } from "../../../../lib/changes/rules/mandates_rule.ts";
import { KINDS } from "../../../../lib/changes/rules/change_terms.ts";
import type { Mandate } from "../../core/api_types.ts";
import { post } from "../../core/api.ts";
import { useValue } from "../../core/hooks.tsx";
import { navigate, href } from "../../core/router.tsx";
import { personName } from "../../core/session.ts";
import { useFindHelp, useIntent } from "../../core/shared.ts";
import { parseValue } from "../../domain/kinds.ts";
import { describeBounds, useMandates } from "../../domain/mandates.ts";
import { formatTitle } from "../../domain/statuses.ts";
import { CheckList, type FieldData, FieldList, Suggestions } from "../../parts/field.tsx";
import { formatInputTime } from "../../core/format.ts";
import { Failure } from "../../parts/notice.tsx";
import { Panel } from "../../parts/panel.tsx";
import { SubmitButton, useIdempotencyKeys, useSubmit } from "../../parts/form_submit.tsx";
import { SentenceList } from "../../parts/text.tsx";

const DAY_MS = 86_400_000;

/** Splits a text at commas and line breaks. */
const splitList = (text = ""): string[] => text.split(/[,\n]/).flatMap((item) => item.trim() || []);

const parseNumber = (text: string | undefined): number | undefined => (text?.trim() ? Number(text) : undefined);

const parseTime = (text: string | undefined): string | undefined => {
  const at = new Date(text ?? "");
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
};

type Texts = Readonly<Record<string, string>>;

/** Returns the typed bounds; the fields of KPI floors are named `floor <kpi>`. */
function readBounds(text: Texts, kinds: readonly string[], schema: string | undefined) {
  const step = parseNumber(text["step"]);
  const { by, unit, tenants = "" } = text;
  const max_step = by &&
    step !== undefined && { [by]: by === "relative" ? step / 100 : step, hours: parseNumber(text["hours"]) ?? 24 };
  const floors = Object.entries(text).filter(([name, floor]) => name.startsWith("floor ") && floor.trim() !== "");
  const kpi_floor = Object.fromEntries(floors.map(([name, floor]) => [name.slice("floor ".length), Number(floor)]));
  return {
    agent: (text["agent"] ?? "").trim(),
    targets: splitList(text["targets"]),
    kinds,
    tenants: tenants.trim() === "all" ? ("all" as const) : splitList(tenants),
    ...((schema !== undefined || max_step) && {
      limits: {
        ...(schema && { schema: JSON.parse(schema) as object }),
        ...(max_step && { max_step }),
        ...(unit && { unit }),
      },
    }),
    max_affected_users: parseNumber(text["max_affected_users"]),
    max_per_day: parseNumber(text["max_per_day"]),
    max_open: parseNumber(text["max_open"]),
    ...(floors.length > 0 && { kpi_floor }),
    until: parseTime(text["until"]),
  };
}

const scopeFields = ({ max_days }: MandatesRule): FieldData[] => [
  { name: "agent", label: "Agent", list: "agents", required: true },
  { name: "targets", label: "Targets", hint: "Patterns, with commas between them.", required: true },
  { name: "tenants", label: "Tenants", hint: "Names, with commas between them; or all.", required: true },
  { name: "until", label: "Ends", hint: `At most ${max_days} days from now.`, type: "datetime-local", required: true },
];

const STEP_FIELDS: FieldData[] = [
  { name: "step", label: "Step", inputMode: "decimal", required: true },
  { name: "hours", label: "Within hours", inputMode: "decimal" },
  { name: "unit", label: "Unit", maxLength: 20 },
];

const STEP_LIMITS = [["", "none"], ["relative", "in percent"], ["absolute", "in units of the value"]] as const; // prettier-ignore

const limitFields = ({ max_per_day, max_open }: MandatesRule, by: string | undefined): FieldData[] => [
  { name: "by", label: "Limit of a step", options: STEP_LIMITS },
  ...(by ? STEP_FIELDS : []),
  { name: "max_affected_users", label: "Users affected by a change", hint: "Empty: any number.", inputMode: "numeric" },
  { name: "max_per_day", label: "Changes a day", hint: `Empty: ${max_per_day}.`, inputMode: "numeric" },
  { name: "max_open", label: "Waiting to be applied", hint: `Empty: ${max_open}.`, inputMode: "numeric" },
];

const PURPOSE: FieldData[] = [
  { name: "note", label: "Purpose", hint: "For those who sign.", rows: 2, maxLength: 4000 },
];

/** The form, and a description of what the mandate would allow. */
export function DraftForm({ rule }: { rule: MandatesRule }) {
  const { data: intent } = useIntent();
  const { data: help } = useFindHelp();
  const { reload } = useMandates();
  const actor = useValue(personName);
  const [kinds, setKinds] = useState<readonly string[]>(["config"]);
  const [text, setText] = useState<Texts>(() => ({
    targets: rule.targets.join(", "),
    tenants: "all",
    hours: "24",
    until: formatInputTime(Date.now() + Math.min(rule.max_days, 7) * DAY_MS),
  }));
  const key = useIdempotencyKeys();
  const { json: schema, fault } = parseValue("config", text["schema"] ?? "");
  const bounds = readBounds(text, kinds, schema);
  const { send, busy, error, faultOf } = useSubmit(async () => {
    if (fault) return;
    const stated = Object.entries({ ...bounds, note: text["note"] || undefined, actor: actor || undefined });
    const fields = Object.fromEntries(
      stated.map(([name, value]) => [
        name,
        value === undefined || typeof value === "string" ? value : JSON.stringify(value),
      ]),
    );
    // The service reads this field as JSON, so that a single text needs quotes.
    if (bounds.tenants === "all") fields["tenants"] = '"all"';
    const created = await post<Mandate>("api/product/mandates", fields, { key: key(fields) });
    // A draft writes no entry, so no event updates the list.
    await reload();
    navigate(href(["mandates", created.mandate_id]));
  });
  const form = { values: text, faultOf, onValue: (name: string, value: string) => setText({ ...text, [name]: value }) };
  const floors = Object.keys(intent?.kpis ?? {}).map((kpi): FieldData => ({ name: `floor ${kpi}`, label: formatTitle(kpi), inputMode: "decimal" })); // prettier-ignore
  const { max_per_day = rule.max_per_day, max_open = rule.max_open } = bounds;
  return (
    <Panel title="Draft a mandate">
      <form onSubmit={send}>
        <div class="grid">
          <FieldList {...form} of={scopeFields(rule)} />
          <Suggestions id="agents" names={help?.fields.find(({ field }) => field === "agent")?.values} />
        </div>
        <CheckList legend="Kinds of changes" options={KINDS} chosen={kinds} onChosen={setKinds} format={formatTitle} />
        <div class="grid">
          <FieldList {...form} of={limitFields(rule, text["by"])} />
        </div>
        <FieldList
          {...form}
          of={[
            {
              name: "schema",
              label: "Schema of values",
              hint: "JSON Schema; empty: any value.",
              rows: 2,
              class: "code",
              error: fault ?? faultOf("limits"),
            },
          ]}
        />
        {floors.length > 0 && (
          <details>
            <summary>Suspend it when a KPI is worse than…</summary>
            <div class="grid">
              <FieldList {...form} of={floors} />
            </div>
          </details>
        )}
        <FieldList {...form} of={PURPOSE} />
        <h3>What it would allow</h3>
        <SentenceList
          label="What it allows"
          of={describeBounds({ ...bounds, agent: bounds.agent || "The agent", max_per_day, max_open } as never)}
        />
        <Failure error={error} alert />
        <SubmitButton verb="Make the draft" busy={busy} />
      </form>
    </Panel>
  );
}
