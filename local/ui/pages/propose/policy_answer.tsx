import { findCovered } from "../../../../lib/changes/rules/list_entries.ts";
import { requiredApprovers, tierOf, whyNotMinor } from "../../../../lib/changes/rules/policy.ts";
import type { Policy } from "../../core/api_types.ts";
import { counted } from "../../core/format.ts";
import { type Draft, readStated } from "../../domain/draft.ts";
import { sameName } from "../../domain/offers.ts";
import { Notice } from "../../parts/notice.tsx";
import { Given } from "../../parts/text.tsx";

/** Shows the tier that the intent gives the draft, by the rules of the service itself, and whose consent that needs. */
export function PolicyAnswer({ draft, policy }: { draft: Draft; policy: Policy }) {
  const stated = readStated(draft);
  const forbidden = findCovered(stated, { targets: policy.forbidden_targets });
  // The rules that are shown lack only the keys, which no tier depends on.
  const rules = policy as Parameters<typeof tierOf>[1];
  const tier = tierOf(stated, rules, 0);
  const needed = requiredApprovers(tier, rules);
  const why = stated.tier === "minor" && tier !== "minor" ? whyNotMinor(stated, rules, 0) : undefined;
  const deciders = policy.approvers?.filter((one) => policy.self_approval || !sameName(one, draft.proposer));
  if (forbidden !== undefined)
    return (
      <Notice tone="bad">
        <p>
          The intent forbids the target <Given text={forbidden} code />.
        </p>
      </Notice>
    );
  return (
    <>
      <p>
        It will be a <strong>{tier}</strong> change and{" "}
        {needed === 0 ? "approved by the intent itself" : `needs ${counted(needed, "approval")}`}
        {needed > 0 && deciders && (
          <>
            : from <Given text={deciders.join(" or ") || "nobody who may"} />
          </>
        )}
        .
      </p>
      {why !== undefined && <p>{why}</p>}
      {needed > 0 && policy.consent_ttl_hours !== undefined && (
        <p class="quiet">Without approval it expires after {policy.consent_ttl_hours} hours.</p>
      )}
    </>
  );
}
