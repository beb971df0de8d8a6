import type { Capability, CapabilityMap } from "../../core/api_types.ts";
import { type Mark as MarkOf, titled } from "../../domain/statuses.ts";
import { Mark } from "../../parts/mark.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Given } from "../../parts/text.tsx";

const STATUS: Readonly<Record<Capability["status"], MarkOf>> = {
  available: { word: "Available", shape: "check", tone: "good" },
  degraded: { word: "Degraded", shape: "half", tone: "warn" },
  disabled: { word: "Off", shape: "ring", tone: "quiet" },
  failing: { word: "Failing", shape: "bang", tone: "bad" },
};

/** What works here, and what would switch on the rest. */
export const Capabilities = ({ map: { capabilities } }: { map: CapabilityMap }) => (
  <Panel title="Health">
    <ul class="plain capabilities">
      {capabilities.map(({ id, status, reason, enable_with }) => (
        <li key={id}>
          <Mark of={STATUS[status]} />
          <div>
            <strong>{titled(id)}</strong>
            {reason !== null && (
              <p class="quiet">
                <Given text={reason} />
                {enable_with !== null && (
                  <>
                    ; switched on with{" "}
                    {enable_with.split(/ (?=--)/).map((option) => [<code key={option}>{option}</code>, " "])}
                  </>
                )}
              </p>
            )}
          </div>
        </li>
      ))}
    </ul>
  </Panel>
);
