/** The preview of a proposal: rules of the intent, differences and conflicts, before it is sent. */
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { IntentView, PolicyAnswer as PolicyReply } from "../../core/api_types.ts";
import { get, type Query } from "../../core/api.ts";
import { formatCount } from "../../core/format.ts";
import { useDebounced } from "../../core/hooks.tsx";
import { useResource } from "../../core/resource.tsx";
import { useFind } from "../../core/shared.ts";
import { listCautions } from "../../domain/cautions.ts";
import { parseValue } from "../../domain/kinds.ts";
import { Cautions, Notice } from "../../parts/notice.tsx";
import { ChangeNames } from "../../parts/change_name.tsx";
import { ValueDiff } from "../../parts/diff.tsx";
import { Panel } from "../../parts/panel.tsx";
import { UserText } from "../../parts/text.tsx";
import { PolicyAnswer } from "./policy_answer.tsx";
import { type Draft, makeProposalFields, readStatedFields, splitDraft } from "../../domain/draft.ts";

/** The rules' answer for each target; `children` are the button that sends the draft, and the error of sending. */
export function ProposalPreview(props: {
  draft: Draft;
  intent: IntentView;
  /** The id of the change that it supersedes. */
  supersedes: string | undefined;
  children: ComponentChildren;
}) {
  const { draft, intent, supersedes, children } = props;
  const targets = splitDraft(draft);
  const hasNoValue = targets.every(({ value }) => value.trim() === "");
  const { affected_users, reversible, risk } = readStatedFields(draft);
  const unstated = Object.entries({ risk, reversible, affected_users }).flatMap(([field, stated]) =>
    stated === undefined ? [field as "risk"] : [],
  );
  const cautions = listCautions({
    target: draft.target.trim(),
    ...(hasNoValue && { sets_nothing: true as const }),
    unstated,
  });
  return (
    <Panel title="What the policy will say">
      {targets.map((targetDraft, index) => (
        <section key={index}>
          {draft.sets && (
            <h3>
              <UserText text={targetDraft.target || `Target ${index + 1}`} code /> for{" "}
              <UserText text={targetDraft.tenant_id} />
            </h3>
          )}
          <TargetPreview
            draft={targetDraft}
            name={draft.sets && (targetDraft.target || `Target ${index + 1}`)}
            intent={intent}
            supersedes={supersedes}
          />
        </section>
      ))}
      {draft.sets && (
        <p>The strictest of these answers counts for the complete plan, which is approved and applied as one.</p>
      )}
      <Cautions of={cautions} />
      {children}
    </Panel>
  );
}

/** The answer of the rules about one target, and the difference there. */
function TargetPreview(props: {
  draft: Draft;
  /** Names the target of a plan. */
  name: string | undefined;
  intent: IntentView;
  supersedes: string | undefined;
}) {
  const { draft, name, supersedes } = props;
  const { policy } = props.intent;
  const answer = usePolicyAnswer(draft);
  const current = useCurrentValue(draft);
  const { json } = parseValue(draft.kind, draft.value);
  return (
    <>
      <div aria-live="polite">{answer && <PolicyAnswer answer={answer} policy={policy} />}</div>
      <Conflicts of={draft} supersedes={supersedes} blocksConflicts={policy?.on_conflict === "block"} />
      {json !== undefined && current !== undefined && (
        <>
          <p class="quiet">Now, and after:</p>
          <ValueDiff
            label={name === undefined ? "Now, and after" : `Now, and after: ${name}`}
            before={current}
            after={{ value: JSON.parse(json) }}
          />
        </>
      )}
    </>
  );
}

/** Reads the answer of the rules to the draft, once it names a target, which has no `*`, and the typing pauses. */
function usePolicyAnswer(draft: Draft): PolicyReply | undefined {
  const { kpi, apply_when, proposer } = makeProposalFields(draft);
  const typed = JSON.stringify({ ...readStatedFields(draft), kpi, apply_when, proposer });
  const debounced = useDebounced(typed);
  const { target } = readStatedFields(draft);
  const isComplete = target !== "" && !target.includes("*");
  const { data } = useResource(isComplete ? `policy ${debounced}` : null, (signal) =>
    get<PolicyReply>("api/product/policy", JSON.parse(debounced) as Query, signal),
  );
  // The last answer stays until the next one comes, so that nothing below moves.
  const last = useRef<PolicyReply | undefined>();
  if (data) last.current = data;
  return isComplete ? (data ?? last.current) : undefined;
}

const MAX_CONFLICTS = 5;

/** Other changes on the tenant's target that are under way. */
function Conflicts(props: {
  of: Pick<Draft, "tenant_id" | "target">;
  supersedes: string | undefined;
  blocksConflicts: boolean;
}) {
  const { of, supersedes, blocksConflicts } = props;
  // Quotes and `*` have a meaning of their own in a query.
  const [tenant, target] = [of.tenant_id, of.target].map((name) => name.trim().replaceAll(/["*]/g, ""));
  const isComplete = Boolean(tenant && target);
  const query = useDebounced(isComplete ? `is:pending_consent,approved tenant:"${tenant}" target:"${target}"` : "");
  const { data } = useFind(query || null, { limit: MAX_CONFLICTS });
  const others = (data?.rows ?? []).filter(({ change_id }) => change_id !== supersedes);
  const total = data ? data.total - (data.rows.length - others.length) : 0;
  if (total === 0) return null;
  return (
    <Notice tone="warn">
      <p>
        {formatCount(total, "change", "changes")} on this target {total === 1 ? "is" : "are"} under way for this tenant
        {blocksConflicts ? "; the intent allows no further one" : ""}:
      </p>
      <ChangeNames of={others} />
    </Notice>
  );
}

interface ValuePage {
  values: { target: string; tenant_id: string; value?: unknown }[];
}

/** Returns the value that approved changes have set at the draft's target: `null` for none, undefined until it is read. */
export function useCurrentValue({ tenant_id, target }: Draft): { value: unknown } | null | undefined {
  const query = { tenant_id: tenant_id.trim(), target: target.trim(), limit: 1 };
  const debounced = useDebounced(JSON.stringify(query));
  const isComplete = debounced === JSON.stringify(query) && query.tenant_id !== "" && query.target !== "";
  const { data } = useResource(isComplete && !query.target.includes("*") ? `value ${debounced}` : null, (signal) =>
    get<ValuePage>("api/product/values", query, signal),
  );
  if (!data) return undefined;
  const [current] = data.values;
  return current && "value" in current ? { value: current.value } : null;
}
