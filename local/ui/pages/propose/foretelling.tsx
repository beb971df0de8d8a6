import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { IntentView, PolicyAnswer as PolicyReply, RuntimePage } from "../../core/api_types.ts";
import { get, type Query } from "../../core/api.ts";
import { counted, pretty } from "../../core/format.ts";
import { useRested } from "../../core/hooks.tsx";
import { useResource } from "../../core/resource.tsx";
import { listCautions } from "../../domain/cautions.ts";
import { formOf, valueOf } from "../../domain/kinds.ts";
import { Cautions } from "../../parts/cautions.tsx";
import { ChangeNames } from "../../parts/change_name.tsx";
import { Diff } from "../../parts/diff.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Panel } from "../../parts/panel.tsx";
import { PolicyAnswer } from "./policy_answer.tsx";
import { type Draft, fieldsOf, readStated } from "../../domain/draft.ts";

/** What the intent's rules will say, before anything is sent; below it stands what sends. */
export function Foretelling({
  draft,
  intent,
  except,
  current,
  children,
}: {
  draft: Draft;
  intent: IntentView;
  /** The change whose place it takes. */
  except: string | undefined;
  current: { value: unknown } | null | undefined;
  children: ComponentChildren;
}) {
  const { policy } = intent;
  const answer = usePolicyAnswer(draft);
  const { kind, value, target } = draft;
  const { json, fault } = valueOf(formOf(kind, value), value);
  const setsNothing = json === undefined && fault === undefined;
  const { affected_users, reversible, risk } = readStated(draft);
  const unstated = Object.entries({ risk, reversible, affected_users }).flatMap(([field, stated]) =>
    stated === undefined ? [field as "risk"] : [],
  );
  const cautions = listCautions({
    target: target.trim(),
    ...(setsNothing && { sets_nothing: true as const }),
    unstated,
  });
  return (
    <Panel title="What the policy will say">
      <div aria-live="polite">{answer && <PolicyAnswer answer={answer} policy={policy} />}</div>
      <Conflicts
        tenant={draft.tenant_id.trim()}
        target={draft.target.trim()}
        except={except}
        blocks={policy?.on_conflict === "block"}
      />
      <Cautions of={cautions} />
      {json !== undefined && current !== undefined && (
        <>
          <h3>Now, and after</h3>
          <Diff
            label="Now, and after"
            before={current === null ? undefined : pretty(current.value)}
            after={pretty(JSON.parse(json))}
          />
        </>
      )}
      {children}
    </Panel>
  );
}

/** Reads the answer of the rules to the draft, once it names its target and the typing rests. */
function usePolicyAnswer(draft: Draft): PolicyReply | undefined {
  const { apply_when, proposer } = fieldsOf(draft, undefined);
  const typed = JSON.stringify({ ...readStated(draft), apply_when, proposer });
  const rested = useRested(typed);
  const { target } = readStated(draft);
  const isComplete = target !== "" && !target.includes("*");
  const { data } = useResource(isComplete ? `policy ${rested}` : null, (signal) =>
    get<PolicyReply>("api/product/policy", JSON.parse(rested) as Query, signal),
  );
  // Nothing below moves while the next answer is on its way.
  const last = useRef<PolicyReply | undefined>();
  if (data) last.current = data;
  return isComplete ? (data ?? last.current) : undefined;
}

const LIVE = ["pending_consent", "approved"] as const;
const TOLD = 5;

/** Other changes on the tenant's target that are under way. */
function Conflicts({
  tenant,
  target,
  except,
  blocks,
}: {
  tenant: string;
  target: string;
  except: string | undefined;
  blocks: boolean;
}) {
  const place = useRested(JSON.stringify([tenant, target]));
  const [tenant_id = "", on = ""] = JSON.parse(place) as string[];
  const isPlace = tenant_id !== "" && on !== "" && !on.includes("*");
  const { data } = useResource(isPlace ? `live on ${place}` : null, async (signal) => {
    const query = { tenant_id, target: on, limit: TOLD, entries: 0 };
    const read = (status: string) => get<RuntimePage>("api/product/runtime", { ...query, status }, signal);
    const pages = await Promise.all(LIVE.map(read));
    return {
      total: pages.reduce((sum, { total }) => sum + total, 0),
      changes: pages.flatMap(({ changes }) => changes),
    };
  });
  const others = (data?.changes ?? []).filter(({ change_id }) => change_id !== except);
  const total = data ? data.total - (data.changes.length - others.length) : 0;
  if (total === 0) return null;
  return (
    <Notice tone="warn">
      <p>
        {counted(total, "change", "changes")} on this target {total === 1 ? "is" : "are"} under way for this tenant
        {blocks ? "; the intent lets no other in beside them" : ""}:
      </p>
      <ChangeNames of={others.slice(0, TOLD)} />
    </Notice>
  );
}
