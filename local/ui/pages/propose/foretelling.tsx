import type { ComponentChildren } from "preact";
import type { Approvals, IntentView } from "../../core/api_types.ts";
import { get } from "../../core/api.ts";
import { counted } from "../../core/format.ts";
import { useResource } from "../../core/resource.tsx";
import { changeHref } from "../../core/router.tsx";
import { decidersOf, foretell, type Stated } from "../../domain/policy_answer.ts";
import { Notice } from "../../parts/notice.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Given } from "../../parts/text.tsx";
import type { Draft } from "./form.tsx";

/** What the intent's rules will say, before anything is sent; below it stands what sends. */
export function Foretelling({
  draft,
  intent,
  children,
}: {
  draft: Draft;
  intent: IntentView;
  children: ComponentChildren;
}) {
  const { policy } = intent;
  return (
    <Panel title="What the policy will say">
      <div aria-live="polite">
        {policy ? (
          <Told stated={statedOf(draft)} policy={policy} />
        ) : (
          <p class="quiet">
            This service does not show its rules beforehand. It answers when you propose: with a tier, the consents it
            needs, or a refusal.
          </p>
        )}
      </div>
      <Conflicts target={draft.target.trim()} blocks={policy?.on_conflict === "block"} />
      {children}
    </Panel>
  );
}

function Told({ stated, policy }: { stated: Stated; policy: NonNullable<IntentView["policy"]> }) {
  const { refused, tier, required, reasons } = foretell(stated, policy);
  if (refused !== null)
    return (
      <Notice tone="bad">
        <p>
          It will be refused. <Given text={refused} />
        </p>
      </Notice>
    );
  return (
    <>
      <p>
        It will be a <strong>{tier}</strong> change and{" "}
        {required === 0 ? "approved at once by the intent itself" : `needs ${counted(required, "consent")}`}.
      </p>
      <ul class="reasons">
        {reasons.map((reason) => (
          <li key={reason}>
            <Given text={reason} />
          </li>
        ))}
        {required > 0 && (
          <li>
            <Given text={decidersOf(policy, stated.proposer)} />
          </li>
        )}
        {required > 0 && policy.consent_ttl_hours !== undefined && (
          <li>Without consent it expires after {policy.consent_ttl_hours} hours.</li>
        )}
      </ul>
    </>
  );
}

/** Other changes on the target that are under way; the service compares the tenant too. */
function Conflicts({ target, blocks }: { target: string; blocks: boolean }) {
  const { data } = useResource("approvals", (signal) =>
    get<Approvals>("api/product/approvals", { limit: 200 }, signal),
  );
  const same = [...(data?.pending ?? []), ...(data?.approved ?? [])].filter(
    (one) => target !== "" && one.target.toLowerCase() === target.toLowerCase(),
  );
  if (same.length === 0) return null;
  return (
    <Notice tone="warn">
      <p>
        {counted(same.length, "change", "changes")} on this target {same.length === 1 ? "is" : "are"} under way
        {blocks ? "; of the same tenant, they block yours" : ""}:
      </p>
      <ul>
        {same.slice(0, 5).map(({ change_id, summary }) => (
          <li key={change_id}>
            <a href={changeHref(change_id)}>
              <Given text={summary} />
            </a>
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function statedOf({ kind, target, proposer, affected_users, reversible, risk, tier }: Draft): Stated {
  const users = affected_users.trim();
  return {
    kind,
    target: target.trim(),
    proposer: proposer.trim() || undefined,
    affected_users: users === "" || !Number.isFinite(Number(users)) ? undefined : Number(users),
    reversible: reversible === "" ? undefined : reversible === "true",
    risk: risk || undefined,
    tier: tier || undefined,
  };
}
