/** A proposal: stated in full, with the policy's answer foretold before it is sent. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { AuditEntry, Kind, Proposed, Risk, Tier } from "../core/api_types.ts";
import { type Fields, newKey, post, Refused } from "../core/api.ts";
import { useTitle, useValue } from "../core/hooks.tsx";
import { changeHref, type Route } from "../core/router.tsx";
import { personName } from "../core/session.ts";
import { useIntent, useServiceState } from "../core/shared.ts";
import { curlPost } from "../domain/curl.ts";
import { KINDS, type ValueDraft, valueOf } from "../domain/kinds.ts";
import { keepReceipt } from "../domain/receipts.ts";
import { STANDARD_KPIS, statusMark } from "../domain/statuses.ts";
import { Mark } from "../parts/mark.tsx";
import { Failure, Notice, Pending } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { Receipt } from "../parts/receipt.tsx";
import { Code } from "../parts/text.tsx";
import { Foretelling } from "./propose/foretelling.tsx";
import { type Draft, PROPOSAL_FORM, ProposalForm } from "./propose/form.tsx";

/** The form, and beside it what will come of it. */
export function ProposePage({ route: { query } }: { route: Route }) {
  const { data: intent, error: off } = useIntent();
  const { data: state } = useServiceState();
  const name = useValue(personName);
  const [draft, setDraft] = useState<Draft>(() => draftFrom(query, name));
  const [sent, setSent] = useState<{ draft: Draft; answer: Proposed } | undefined>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [key, setKey] = useState(newKey);
  useTitle("Propose a change");
  const known = useRef(name);
  useEffect(() => {
    if (draft.proposer === known.current) setDraft({ ...draft, proposer: name });
    known.current = name;
  }, [name]);
  useEffect(() => {
    if (error) document.querySelector<HTMLElement>(`#${PROPOSAL_FORM} [aria-invalid]`)?.focus();
  }, [error]);
  const value = valueOf(KINDS[draft.kind].value, draft.value);
  const fields = fieldsOf(draft, value.json);
  const change = (next: Draft) => {
    setDraft(next);
    setKey(newKey());
  };
  const send = async () => {
    if (busy || value.fault) return;
    setBusy(true);
    setError(undefined);
    try {
      const proposed = await post<Proposed & { audit_entry: AuditEntry }>("api/product/propose", fields, { key });
      keepReceipt(proposed.audit_entry);
      setSent({ draft, answer: proposed });
      document.querySelector("h1")?.focus();
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  if (!intent)
    return (
      <>
        <PageHead title="Propose a change" />
        <Pending error={off} what="the intent" />
      </>
    );
  const kpis = [...new Set([...(state?.goals ?? []).map(({ kpi }) => kpi), ...STANDARD_KPIS])];
  const faults = error instanceof Refused ? (error.refusal.fields ?? []) : [];
  return (
    <>
      <PageHead
        title="Propose a change"
        lead="Say what is to change, why, and how you will know that it was worth it."
      />
      {sent && <Sent proposed={sent.answer} />}
      <div class="columns">
        <Panel title="The proposal">
          <ProposalForm
            draft={draft}
            onDraft={change}
            kpis={kpis}
            valueFault={value.fault}
            faultOf={(field) => faults.find((one) => one.field === field)?.message}
            onSend={() => void send()}
          />
        </Panel>
        <div class="beside">
          <Foretelling draft={draft} intent={intent}>
            <Failure error={error} alert />
            {sent?.draft === draft ? (
              <p class="quiet">This is proposed. Change something in it to propose another.</p>
            ) : (
              <button type="submit" form={PROPOSAL_FORM} aria-disabled={busy} aria-busy={busy}>
                {busy ? "Sending…" : "Propose"}
              </button>
            )}
          </Foretelling>
          <Panel title="The same with curl">
            <Code label="Command">{curlPost("api/product/propose", fields, { token: false })}</Code>
          </Panel>
        </div>
      </div>
    </>
  );
}

const Sent = ({ proposed }: { proposed: Proposed }) => (
  <Notice tone="good" alert>
    <p>
      Proposed. <Mark of={statusMark(proposed)} /> <a href={changeHref(proposed.change_id)}>Open the change</a>
    </p>
    {proposed.conflicts.length > 0 && <p>Other changes on this target are under way; the change shows them.</p>}
    <Receipt entry={proposed.audit_entry} />
  </Notice>
);

const EMPTY: ValueDraft = { text: "", enabled: "", percent: "" };

/** A proposal may come with the address, for example from a draft in the chat. */
function draftFrom(query: URLSearchParams, name: string): Draft {
  const given = (field: string): string => query.get(field) ?? "";
  const kind = (given("kind") in KINDS ? given("kind") : "config") as Kind;
  return {
    kind,
    tenant_id: given("tenant_id"),
    target: given("target"),
    summary: given("summary"),
    rationale: given("rationale"),
    kpi: given("kpi"),
    expected_delta_k: given("expected_delta_k"),
    affected_users: given("affected_users"),
    reversible: given("reversible"),
    risk: given("risk") as Risk | "",
    tier: given("tier") as Tier | "",
    proposer: given("proposer") || name,
    value: { ...EMPTY, text: KINDS[kind].value === "json" ? given("value") : "" },
  };
}

/** The form's fields; what was left empty is not stated. */
function fieldsOf(draft: Draft, value: string | undefined): Fields {
  const { value: _typed, ...stated } = draft;
  const filled = Object.entries(stated).map(([field, text]) => [field, text.trim() === "" ? undefined : text.trim()]);
  return { ...Object.fromEntries(filled), value };
}
