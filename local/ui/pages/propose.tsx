/** The page of a proposal: its form, and a preview of the policy's answer. */
import { useEffect, useRef, useState } from "preact/hooks";
import { isOpenChange } from "../../../lib/changes/rules/current_state.ts";
import type { AuditEntry, ChangeDetail, ProposalAnswer } from "../core/api_types.ts";
import { encodeForm, newKey, post } from "../core/api.ts";
import { useTitle, useValue } from "../core/hooks.tsx";
import { changeHref, type Route } from "../core/router.tsx";
import { storedDraft, personName } from "../core/session.ts";
import { useIntent, useServiceState } from "../core/shared.ts";
import {
  type Draft,
  draftFromChange,
  parseDraft,
  draftCurrentValue,
  draftPromotion,
  makeProposalFields,
  splitDraft,
} from "../domain/draft.ts";
import { findDraftSupersedeProblem } from "../domain/follow_ups.ts";
import { parseValue, formatValue } from "../domain/kinds.ts";
import { storeReceipt } from "../domain/receipts.ts";
import { listOfferedKpis } from "../domain/kpi_series.ts";
import { statusBadge } from "../domain/statuses.ts";
import { ChangeName } from "../parts/change_name.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import { useSubmit } from "../parts/form_submit.tsx";
import { Failure, Notice, Receipt } from "../parts/notice.tsx";
import { PageHead, Panel, PendingPage } from "../parts/panel.tsx";
import { UserText } from "../parts/text.tsx";
import { useCurrentValue, ProposalPreview } from "./propose/proposal_preview.tsx";
import { SupersededChange, type Superseding, SupersedeNotice } from "./propose/superseded_change.tsx";
import { PROPOSAL_FORM, ProposalForm } from "./propose/form.tsx";

/** The largest request that the service takes. */
const MAX_REQUEST_BYTES = 65_536;

/** A new proposal, or a proposal that supersedes or promotes the change in the address. */
export function ProposePage({ route: { query } }: { route: Route }) {
  const name = useValue(personName);
  const promotes = query.get("promotes");
  if (promotes !== null)
    return (
      <SupersededChange id={promotes} take={undefined}>
        {(of) => <Proposal initial={draftPromotion(of, query, name)} promotes={of} />}
      </SupersededChange>
    );
  const id = query.get("supersedes");
  if (id === null) return <Proposal initial={parseDraft(query, name)} />;
  const take = query.get("take") === "held" ? "held" : undefined;
  return (
    <SupersededChange id={id} take={take}>
      {(of, current) => (
        <Proposal
          initial={take ? draftCurrentValue(of, current, name) : draftFromChange(of, name)}
          superseding={{ of, take, current }}
        />
      )}
    </SupersededChange>
  );
}

function Proposal(props: { initial: Draft; superseding?: Superseding; promotes?: ChangeDetail }) {
  const { initial, superseding, promotes } = props;
  const { data: intent, error: intentError } = useIntent();
  const { data: state } = useServiceState();
  const name = useValue(personName);
  const address = location.hash;
  const [draft, setDraft] = useState<Draft>(() => readStoredDraft(address) ?? initial);
  const [sent, setSent] = useState<{ draft: Draft; answer: ProposalAnswer } | undefined>();
  const [key, setKey] = useState(newKey);
  const title = promotes ? "Promote a change" : "Propose a change";
  useTitle(title);
  // The proposer follows the reader's name unless another one was typed.
  const previousName = useRef(name);
  useEffect(() => {
    if (draft.proposer === previousName.current) setDraft({ ...draft, proposer: name });
    previousName.current = name;
  }, [name]);
  const valueFaults = splitDraft(draft).flatMap(({ kind, value }) => parseValue(kind, value).fault ?? []);
  const isTooLong = encodeForm(makeProposalFields(draft)).toString().length > MAX_REQUEST_BYTES;
  const valueFault = isTooLong ? "The proposal is over 64 KiB. Shorten the value." : valueFaults[0];
  const current = useCurrentValue(draft);
  // The value field shows the current value until another is typed.
  const filledIn = useRef("");
  const currentText = current && formatValue(draft.kind, current.value);
  useEffect(() => {
    if (currentText === undefined || promotes) return;
    const before = filledIn.current;
    const value = currentText ?? "";
    filledIn.current = value;
    if (value !== before) setDraft((now) => (now.value === before ? { ...now, value } : now));
  }, [currentText]);
  const supersedeProblem = superseding && findDraftSupersedeProblem(superseding.of, draft);
  const supersedes = superseding && supersedeProblem === undefined ? superseding.of.change_id : undefined;
  // A promotion takes kind and values from the promoted change.
  const fields = promotes
    ? {
        ...makeProposalFields({ ...draft, ...(draft.sets && { target: "" }), sets: undefined, value: "" }),
        kind: undefined,
        promotes: promotes.change_id,
      }
    : { ...makeProposalFields(draft), supersedes };
  const { send, busy, error, faultOf, clearError } = useSubmit(async () => {
    if (valueFault) return focusFirstFault();
    const proposed = await post<ProposalAnswer & { audit_entry: AuditEntry }>("api/product/propose", fields, { key });
    storeReceipt(proposed.audit_entry);
    storedDraft.set("");
    setSent({ draft, answer: proposed });
    document.querySelector("h1")?.focus();
  });
  useEffect(() => {
    if (error) focusFirstFault();
  }, [error]);
  const changeDraft = (next: Draft) => {
    setDraft(next);
    setKey(newKey());
    clearError();
    storedDraft.set(JSON.stringify({ address, draft: next }));
  };
  if (!intent) return <PendingPage title={title} error={intentError} what="the intent" />;
  const startOver = () => {
    storedDraft.set("");
    setDraft(initial);
  };
  const kpis = listOfferedKpis((state?.goals ?? []).map(({ kpi }) => kpi));
  return (
    <>
      <PageHead
        title={title}
        lead={
          promotes
            ? "Choose where the value goes, and state its reach and risk there."
            : "State what is to change, why, and how its success will show."
        }
      />
      {promotes && (
        <p>
          The value of <ChangeName of={promotes} /> for tenant <UserText text={promotes.tenant_id} />, exactly as it is.
        </p>
      )}
      {sent ? (
        <Sent proposed={sent.answer} superseding={superseding} />
      ) : (
        superseding && (
          <SupersedeNotice
            {...superseding}
            problem={supersedeProblem}
            draft={draft}
            blocksConflicts={intent.policy?.on_conflict === "block"}
          />
        )
      )}
      <div class="columns">
        <Panel title="The proposal">
          <ProposalForm
            draft={draft}
            onDraft={changeDraft}
            kpis={kpis}
            isPromotion={promotes !== undefined}
            automations={intent.policy?.apply_when?.filter((mode) => mode !== "manual") ?? []}
            valueFault={valueFault}
            faultOf={faultOf}
            onSend={send}
            onStartOver={storedDraft.get() === "" ? undefined : startOver}
          />
        </Panel>
        <div class="with-preview">
          <ProposalPreview
            // A promotion sets all targets of a plan for the one tenant of the form.
            draft={
              promotes && draft.sets
                ? { ...draft, sets: draft.sets.map((entry) => ({ ...entry, tenant_id: draft.tenant_id })) }
                : draft
            }
            intent={intent}
            supersedes={supersedes}
          >
            <Failure error={error} alert />
            {sent?.draft === draft ? (
              <p class="quiet">This is proposed. Change something in it to propose another.</p>
            ) : (
              <button type="submit" form={PROPOSAL_FORM} aria-disabled={busy} aria-busy={busy}>
                {busy ? "Sending…" : "Propose"}
              </button>
            )}
          </ProposalPreview>
        </div>
      </div>
    </>
  );
}

/** Returns the draft that was typed at this address and not sent. */
function readStoredDraft(address: string): Draft | undefined {
  if (storedDraft.get() === "") return undefined;
  const stored = JSON.parse(storedDraft.get()) as { address: string; draft: Draft };
  return stored.address === address ? stored.draft : undefined;
}

/** Focuses the first invalid field, which may be out of sight. */
const focusFirstFault = () => document.querySelector<HTMLElement>(`#${PROPOSAL_FORM} [aria-invalid]`)?.focus();

const Sent = ({ proposed, superseding }: { proposed: ProposalAnswer; superseding: Superseding | undefined }) => (
  <Notice tone="good" alert>
    <p>
      Proposed. <StatusBadge of={statusBadge(proposed)} /> <a href={changeHref(proposed.change_id)}>Open the change</a>
    </p>
    {proposed.conflicts.length > 0 && <p>Other changes on this target are under way; the change shows them.</p>}
    {superseding && isOpenChange(superseding.of.status) && (
      <p>
        <ChangeName of={superseding.of} /> is still open: its proposer may withdraw it there.
      </p>
    )}
    <Receipt entry={proposed.audit_entry} />
  </Notice>
);
