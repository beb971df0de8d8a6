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

/** Preview of the intent's rules, before anything is sent; the button that sends is below. */
export function ProposalPreview(props: {
  draft: Draft;
  intent: IntentView;
  /** The change whose place it takes. */
  except: string | undefined;
  children: ComponentChildren;
}) {
  const { draft, intent, except, children } = props;

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
      {targets.map((one, index) => (
        <section key={index}>
          {draft.sets && (
            <h3>
              <UserText text={one.target || `Target ${index + 1}`} code /> for <UserText text={one.tenant_id} />
            </h3>
          )}
          <TargetPreview
            draft={one}
            name={draft.sets && (one.target || `Target ${index + 1}`)}
            intent={intent}
            except={except}
          />
        </section>
      ))}
      {draft.sets && <p>The strictest of these counts for the whole plan, which is approved and applied as one.</p>}
      <Cautions of={cautions} />
      {children}
    </Panel>
  );
}

/** The answer of the rules about one target, and what would differ there. */
function TargetPreview({
  draft,
  name,
  intent: { policy },
  except,
}: {
  draft: Draft;
  /** Names it among several. */
  name: string | undefined;
  intent: IntentView;
  except: string | undefined;
}) {
  const answer = usePolicyAnswer(draft);
  const current = useCurrentValue(draft);
  const { json } = parseValue(draft.kind, draft.value);
  return (
    <>
      <div aria-live="polite">{answer && <PolicyAnswer answer={answer} policy={policy} />}</div>
      <Conflicts place={draft} except={except} blocks={policy?.on_conflict === "block"} />
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

/** Reads the answer of the rules to the draft, once it names its target and the typing rests. */
function usePolicyAnswer(draft: Draft): PolicyReply | undefined {
  const { apply_when, proposer } = makeProposalFields(draft);
  const typed = JSON.stringify({ ...readStatedFields(draft), apply_when, proposer });
  const rested = useDebounced(typed);
  const { target } = readStatedFields(draft);
  const isComplete = target !== "" && !target.includes("*");
  const { data } = useResource(isComplete ? `policy ${rested}` : null, (signal) =>
    get<PolicyReply>("api/product/policy", JSON.parse(rested) as Query, signal),
  );
  // Nothing below moves while the next answer is on its way.
  const last = useRef<PolicyReply | undefined>();
  if (data) last.current = data;
  return isComplete ? (data ?? last.current) : undefined;
}

const MAX_CONFLICTS = 5;

/** Other changes on the tenant's target that are under way. */
function Conflicts(props: { place: Pick<Draft, "tenant_id" | "target">; except: string | undefined; blocks: boolean }) {
  const {
    place: { tenant_id, target },
    except,
    blocks,
  } = props;

  const [tenant, on] = [tenant_id, target].map((name) => name.trim().replaceAll(/["*]/g, "")) as [string, string];
  const query = useDebounced(tenant && on && `is:pending_consent,approved tenant:"${tenant}" target:"${on}"`);
  const { data } = useFind(query || null, { limit: MAX_CONFLICTS });
  const others = (data?.rows ?? []).filter(({ change_id }) => change_id !== except);
  const total = data ? data.total - (data.rows.length - others.length) : 0;
  if (total === 0) return null;
  return (
    <Notice tone="warn">
      <p>
        {formatCount(total, "change", "changes")} on this target {total === 1 ? "is" : "are"} under way for this tenant
        {blocks ? "; the intent lets no other in next to them" : ""}:
      </p>
      <ChangeNames of={others} />
    </Notice>
  );
}

interface ValuePage {
  values: { target: string; tenant_id: string; value?: unknown }[];
}

/** Returns the value that approved changes have set at the draft's target; `null`: nothing; undefined while that is not known. */
export function useCurrentValue({ tenant_id, target }: Draft): { value: unknown } | null | undefined {
  const query = { tenant_id: tenant_id.trim(), target: target.trim(), limit: 1 };
  const rested = useDebounced(JSON.stringify(query));
  const isComplete = rested === JSON.stringify(query) && query.tenant_id !== "" && query.target !== "";
  const { data } = useResource(isComplete && !query.target.includes("*") ? `value ${rested}` : null, (signal) =>
    get<ValuePage>("api/product/values", query, signal),
  );
  if (!data) return undefined;
  const [found] = data.values;
  return found && "value" in found ? { value: found.value } : null;
}
