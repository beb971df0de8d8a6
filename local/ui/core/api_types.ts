/** Types of the service's answers, from the library's declarations; only types are imported. */
import type { ObservedValue } from "../../../lib/changes/rules/moved_value.ts";
import type * as z from "zod";
import type { Preview } from "../../../lib/changes/preview_proposal.ts";
import type { ValuePolicy } from "../../../lib/changes/value_policy.ts";
import type { verifyReport } from "../../../lib/changes/verify_report.ts";
import type { ChatAnswer } from "../../../lib/chat/reply.ts";
import type { FindAnswer, FindRow } from "../../../lib/find/answer.ts";
import type { Completion } from "../../../lib/find/completion.ts";
import type { SavedQuestion } from "../../../lib/find/saved_questions.ts";
import type { decisionAnswer, operationAnswer, proposalAnswer } from "../../../lib/http/change_answers.ts";
import type { rolloutSchema } from "../../../lib/changes/rollouts/rollout_view.ts";
import type { driftSchema } from "../../../lib/changes/drift.ts";
import type { Intent } from "../../../lib/changes/rules/intent.ts";
import type { Inbox as InboxAnswer } from "../../../lib/operations/inbox.ts";
import type { intentSummary } from "../../../lib/operations/intent_view.ts";
import type { Whoami } from "../../../lib/http/whoami.ts";
import type { identitySchema } from "../../../lib/changes/runtime.ts";
import type { listApprovals, readChangeDetail, ChangePage } from "../../../lib/operations/change_views.ts";
import type { RelatedChange } from "../../../lib/operations/related.ts";
import type { Evidence } from "../../../lib/link/evidence.ts";
import type { Insight } from "../../../lib/link/insight.ts";
import type { PeerRow, SelfRow } from "../../../lib/link/port.ts";
import type { MandateDetailView } from "../../../lib/changes/mandates/list.ts";
import type { MandateView } from "../../../lib/changes/mandates/view.ts";
import type { ActionName, ActionRecord } from "../../../lib/operations/action_log.ts";
import type { capabilitySchema } from "../../../lib/operations/capability.ts";
import type { State as StateView } from "../../../lib/operations/state.ts";
import type { EvolvedFile } from "../../../lib/operations/deps.ts";

export type { AuditEntry, EventType } from "../../../lib/audit/entry.ts";
export type { AuditPage } from "../../../lib/audit/page.ts";
export type { Change, Kind, Risk, Status, Tier } from "../../../lib/changes/rules/change.ts";
export type { Gate } from "../../../lib/changes/rules/gates.ts";
export type { Outcome, OutcomeVerdict } from "../../../lib/changes/rules/outcome.ts";
export type { LifecycleAction } from "../../../lib/changes/rules/transitions.ts";
export type { ActionName, ActionRecord, ChatAnswer, EvolvedFile, Evidence, Insight, PeerRow, Whoami };

export type Policy = Omit<Intent["policy"], "signing">;

/** The state of the service, with the capabilities that fail. */
export type State = StateView & { product: { product_id: string; version: string } | null; failing: Capability[] };

/** Rules for the values of a target, and the preview of a proposal for it; null without a kind. */
export type PolicyAnswer = ValuePolicy & { preview: Preview | null };

/** The intent in force; its rules and KPIs where the service shows them. */
export type IntentView = z.infer<ReturnType<typeof intentSummary>> & { policy?: Policy; kpis?: Intent["kpis"] };
/** Keys of people, by normalized name. */
export type ShownKeys = IntentView["keys"];
export type ShownKey = ShownKeys[string][number];
export type Identity = z.infer<ReturnType<typeof identitySchema>>;

/** A change with its entries, gates, relations and measurements. */
export type ChangeDetail = Awaited<ReturnType<typeof readChangeDetail>> & {
  evidence?: Evidence | null;
  /** Present where the change has stages. */
  rollout?: z.infer<ReturnType<typeof rolloutSchema>>;
  /** Current values of the targets; absent where none can be read. */
  seen?: readonly ObservedValue[];
};
export type { InboxAnswer };
export type InboxItem = InboxAnswer["pending"]["items"][number];
export type Approvals = Awaited<ReturnType<typeof listApprovals>>;
export type RuntimePage = ChangePage & { identity: Identity; intent: IntentView; audit: { length: number } };

export type Mandate = MandateView;
export type MandateDetail = MandateDetailView;

export type { FindAnswer, FindRow, SavedQuestion };
export type QueryField = Completion[number];
export interface FindHelp {
  saved: SavedQuestion[];
  fields: QueryField[];
}

export type { RelatedChange };
export type Decision = z.infer<ReturnType<typeof decisionAnswer>>;
export type Operation = z.infer<ReturnType<typeof operationAnswer>>;
export type ProposalAnswer = z.infer<ReturnType<typeof proposalAnswer>>;

export type AuditVerdict = Awaited<ReturnType<typeof verifyReport>>;
export interface Checkpoint {
  checkpoint: string;
  origin: string;
  length: number;
  root: string;
  signed: boolean;
  key: string | null;
  at: string;
}

export type Drift = z.infer<ReturnType<typeof driftSchema>>;
export type Capability = z.infer<typeof capabilitySchema>;
export interface CapabilityMap {
  capabilities: Capability[];
}
export interface Peers {
  peers: PeerRow[];
  self: SelfRow;
}
export interface ActionList {
  actions: ActionRecord[];
  available?: ActionName[];
}
