import { useState } from "preact/hooks";
import { RISKS, STATUSES } from "../../../../lib/governance/rules/change_terms.ts";
import type { Filter } from "../../domain/change_list.ts";
import { KINDS } from "../../domain/kinds.ts";
import { markOf, titled } from "../../domain/statuses.ts";
import { Choice, Line } from "../../parts/field.tsx";

const ANY = ["", "Any"] as const;
const BY_STATUS = STATUSES.filter((one) => one !== "proposed").map((one) => [one, markOf(one).word] as const);
const BY_KIND = Object.entries(KINDS).map(([kind, { title }]) => [kind, title] as const);
const BY_RISK = RISKS.map((risk) => [risk, titled(risk)] as const);

/** What the list is narrowed by; what is wanted less often is folded away while it is empty. */
export function Filters({ filter, onFilter }: { filter: Filter; onFilter: (more: Partial<Filter>) => void }) {
  const { text, status, tenant_id, person, kind, risk, from, to } = filter;
  const [open, setOpen] = useState([person, kind, risk, from, to].some((given) => given !== ""));
  return (
    <form role="search" onSubmit={(event) => event.preventDefault()}>
      <div class="filters">
        <Line
          label="Search"
          type="search"
          value={text}
          onValue={(given) => onFilter({ text: given })}
          placeholder="words of title, reason or target; a whole id"
          maxLength={200}
        />
        <Choice
          label="Status"
          value={status}
          onValue={(given) => onFilter({ status: given })}
          options={[ANY, ...BY_STATUS]}
        />
        <Line
          label="Tenant"
          type="search"
          value={tenant_id}
          onValue={(given) => onFilter({ tenant_id: given })}
          placeholder="its whole name"
          maxLength={200}
        />
      </div>
      <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>Person, kind, risk, days</summary>
        <div class="filters">
          <Line
            label="Person"
            type="search"
            value={person}
            onValue={(given) => onFilter({ person: given })}
            placeholder="who proposed or decided"
            maxLength={200}
          />
          <Choice
            label="Kind"
            value={kind}
            onValue={(given) => onFilter({ kind: given })}
            options={[ANY, ...BY_KIND]}
          />
          <Choice
            label="Risk"
            value={risk}
            onValue={(given) => onFilter({ risk: given })}
            options={[ANY, ...BY_RISK]}
          />
          <Line label="Proposed from" type="date" value={from} onValue={(given) => onFilter({ from: given })} />
          <Line label="Proposed until" type="date" value={to} onValue={(given) => onFilter({ to: given })} />
        </div>
      </details>
    </form>
  );
}
