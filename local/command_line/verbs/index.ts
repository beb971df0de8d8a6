/** The verbs, in the order of the help. */
import type { Verb } from "../verb.ts";
import { acceptLoss } from "./accept_loss.ts";
import { attestationGet, attestationVerify } from "./attestation.ts";
import { auditExport, auditList, auditVerify } from "./audit.ts";
import { certificate } from "./certificate.ts";
import { approve, deny, revoke, withdraw } from "./decisions.ts";
import { find } from "./find.ts";
import { freeze, unfreeze } from "./freeze.ts";
import { kpi } from "./kpi.ts";
import { gate } from "./gate.ts";
import { intentDiff, intentTest } from "./intent.ts";
import { list } from "./list.ts";
import { apply, restoreValue, rollback, stage } from "./operations.ts";
import {
  mandateDraft,
  mandateList,
  mandateNarrow,
  mandateResume,
  mandateRevoke,
  mandateShow,
  mandateSign,
} from "./mandates.ts";
import { mcp } from "./mcp.ts";
import { note } from "./note.ts";
import { plan } from "./plan.ts";
import { propose } from "./propose.ts";
import { show } from "./show.ts";
import { backupVerb, exportVerb, importVerb, migrateVerb, restoreVerb, unfenceVerb } from "./stores.ts";
import { state } from "./state.ts";
import { wait } from "./wait.ts";
import { whoami } from "./whoami.ts";

/** All verbs. */
// prettier-ignore
export const VERBS: readonly Verb[] = [
  propose, plan, find, list, show, wait, approve, deny, revoke, withdraw, apply, rollback, restoreValue, stage, note, freeze, unfreeze,
  acceptLoss,
  mandateList, mandateShow, mandateDraft, mandateSign, mandateNarrow, mandateResume, mandateRevoke,
  gate,
  kpi, auditList, auditVerify, auditExport, certificate, attestationGet, attestationVerify, state, whoami, mcp,
  exportVerb, importVerb, migrateVerb, unfenceVerb, backupVerb, restoreVerb,
  intentTest, intentDiff,
];
