/** The form of a new mandate; it allows nothing before people have signed it. */
import { useState } from "preact/hooks";
import type { MandatesRule } from "../../../../lib/changes/rules/mandates_rule.ts";
import { KINDS } from "../../../../lib/changes/rules/change_terms.ts";
import type { Mandate } from "../../core/api_types.ts";
import { post } from "../../core/api.ts";
import { useValue } from "../../core/hooks.tsx";
import { goTo, href } from "../../core/router.tsx";
import { personName } from "../../core/session.ts";
import { useFindHelp, useIntent } from "../../core/shared.ts";
import { findJsonFault } from "../../domain/json_fault.ts";
import { describeBounds, useMandates } from "../../domain/mandates.ts";
import { titled } from "../../domain/statuses.ts";
import { Choice, Line, Lines } from "../../parts/field.tsx";
import { Failure } from "../../parts/notice.tsx";
import { Panel } from "../../parts/panel.tsx";
import { DialogEnd, useKeys, useSending } from "../../parts/sending.tsx";
import { Given } from "../../parts/text.tsx";

const DAY_MS = 86_400_000;

/** Splits at commas and lines. */
const listOf = (text: string): string[] =>
  text
    .split(/[,\n]/)
    .map((one) => one.trim())
    .filter(Boolean);

const numberIn = (text: string | undefined): number | undefined => (text?.trim() ? Number(text) : undefined);

function parseSchema(text: string): { schema?: object; fault?: string } {
  if (text.trim() === "") return {};
  try {
    return { schema: JSON.parse(text) as object };
  } catch {
    return { fault: findJsonFault(text) ?? "This is not JSON." };
  }
}

/** The form, and in words what it would allow. */
export function DraftForm({ rule }: { rule: MandatesRule }) {
  const { data: intent } = useIntent();
  const { data: help } = useFindHelp();
  const { reload } = useMandates();
  const actor = useValue(personName);
  const [kinds, setKinds] = useState<readonly string[]>(["config"]);
  const [floors, setFloors] = useState<Readonly<Record<string, string>>>({});
  const [text, setText] = useState<Readonly<Record<string, string>>>(() => ({
    agent: "",
    targets: rule.targets.join(", "),
    tenants: "all",
    schema: "",
    by: "",
    step: "",
    hours: "24",
    unit: "",
    until: new Date(Date.now() + Math.min(rule.max_days, 7) * DAY_MS).toISOString().slice(0, 16),
    note: "",
  }));
  const key = useKeys();
  const field = (name: string) => ({
    name,
    value: text[name] ?? "",
    onValue: (given: string) => setText({ ...text, [name]: given }),
    error: faultOf(name),
  });
  const { schema, fault } = parseSchema(text["schema"]!);
  const step = numberIn(text["step"]);
  const max_step = text["by"] &&
    step !== undefined && {
      [text["by"]]: text["by"] === "relative" ? step / 100 : step,
      hours: numberIn(text["hours"]) ?? 24,
    };
  const limits = (schema || max_step) && {
    ...(schema && { schema }),
    ...(max_step && { max_step }),
    ...(text["unit"] && { unit: text["unit"] }),
  };
  const kpi_floor = Object.fromEntries(
    Object.entries(floors).flatMap(([kpi, floor]) => (floor.trim() ? [[kpi, Number(floor)]] : [])),
  );
  const until = new Date(text["until"]!);
  const bounds = {
    agent: text["agent"]!.trim(),
    targets: listOf(text["targets"]!),
    kinds,
    tenants: text["tenants"]!.trim() === "all" ? ("all" as const) : listOf(text["tenants"]!),
    ...(limits && { limits }),
    max_affected_users: numberIn(text["max_affected_users"]),
    max_per_day: numberIn(text["max_per_day"]),
    max_open: numberIn(text["max_open"]),
    ...(Object.keys(kpi_floor).length > 0 && { kpi_floor }),
    until: Number.isNaN(until.getTime()) ? undefined : until.toISOString(),
  };
  const { send, busy, error, faultOf } = useSending(
    async () => {
      if (fault) return;
      const fields = Object.fromEntries(
        Object.entries({ ...bounds, note: text["note"] || undefined, actor: actor || undefined }).map(
          ([name, given]) => [name, given === undefined || typeof given === "string" ? given : JSON.stringify(given)],
        ),
      );
      if (bounds.tenants === "all") fields["tenants"] = '"all"';
      const made = await post<Mandate>("api/product/mandates", fields, { key: key(fields) });
      // A draft writes no entry, of which other pages would hear.
      await reload();
      goTo(href(["mandates", made.mandate_id]));
    },
    () => {},
  );
  const { max_per_day = rule.max_per_day, max_open = rule.max_open } = bounds;
  return (
    <Panel title="Draft a mandate">
      <form onSubmit={send}>
        <div class="grid">
          <Line label="Agent" {...field("agent")} list="agents" required />
          <datalist id="agents">
            {help?.fields
              .find(({ field: one }) => one === "agent")
              ?.values.map((one) => (
                <option key={one} value={one} />
              ))}
          </datalist>
          <Line label="Targets" hint="Patterns, with commas between them." {...field("targets")} required />
          <Line label="Tenants" hint="Names, with commas between them; or all." {...field("tenants")} required />
          <Line
            label="Ends"
            hint={`At most ${rule.max_days} days from now.`}
            type="datetime-local"
            {...field("until")}
            required
          />
        </div>
        <fieldset class="buttons">
          <legend>Kinds of changes</legend>
          {KINDS.map((kind) => (
            <label key={kind} class="check">
              <input
                type="checkbox"
                checked={kinds.includes(kind)}
                onChange={({ currentTarget: { checked } }) =>
                  setKinds(checked ? [...kinds, kind] : kinds.filter((one) => one !== kind))
                }
              />
              <span>{titled(kind)}</span>
            </label>
          ))}
        </fieldset>
        <div class="grid">
          <Choice
            label="Limit of a step"
            {...field("by")}
            options={[
              ["", "none"],
              ["relative", "in percent"],
              ["absolute", "in units of the value"],
            ]}
          />
          {text["by"] !== "" && (
            <>
              <Line label="Step" {...field("step")} inputMode="decimal" required />
              <Line label="Within hours" {...field("hours")} inputMode="decimal" />
              <Line label="Unit" {...field("unit")} maxLength={20} />
            </>
          )}
          <Line
            label="Users affected by a change"
            hint="Empty: any number."
            {...field("max_affected_users")}
            inputMode="numeric"
          />
          <Line
            label="Changes a day"
            hint={`Empty: ${rule.max_per_day}.`}
            {...field("max_per_day")}
            inputMode="numeric"
          />
          <Line
            label="Waiting to be applied"
            hint={`Empty: ${rule.max_open}.`}
            {...field("max_open")}
            inputMode="numeric"
          />
        </div>
        <Lines
          label="Schema of values"
          hint="JSON Schema; empty: any value."
          rows={2}
          class="code"
          {...field("schema")}
          error={fault ?? faultOf("limits")}
        />
        {intent?.kpis && (
          <details>
            <summary>Suspend it when a KPI is worse than…</summary>
            <div class="grid">
              {Object.keys(intent.kpis).map((kpi) => (
                <Line
                  key={kpi}
                  label={titled(kpi)}
                  inputMode="decimal"
                  value={floors[kpi] ?? ""}
                  onValue={(floor) => setFloors({ ...floors, [kpi]: floor })}
                />
              ))}
            </div>
          </details>
        )}
        <Lines label="Purpose" hint="For those who sign." rows={2} {...field("note")} maxLength={4000} />
        <h3>What it would allow</h3>
        <Allows
          of={describeBounds({ ...bounds, agent: bounds.agent || "The agent", max_per_day, max_open } as never)}
        />
        <Failure error={error} alert />
        <DialogEnd verb="Make the draft" busy={busy} />
      </form>
    </Panel>
  );
}

/** The sentences of a mandate. */
export const Allows = ({ of }: { of: readonly string[] }) => (
  <ul class="reasons" aria-label="What it allows">
    {of.map((sentence) => (
      <li key={sentence}>
        <Given text={sentence} />
      </li>
    ))}
  </ul>
);
