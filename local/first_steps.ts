/** Lists shell commands for a first change from proposal to apply; they are logged while there is no change. */
import type { Intent } from "../lib/changes/rules/intent.ts";
import { listElectors } from "../lib/changes/rules/policy.ts";
import { listKeys, requiresSignature } from "../lib/changes/rules/signing.ts";

/** Requests that need the admin token, and its file if no variable has it. */
interface TokenNeeds {
  writes: boolean;
  reads: boolean;
  tokenFile?: string | undefined;
}

/** Paths that no shell interprets. */
const PLAIN_PATH = /^[A-Za-z0-9@._/-]+$/;

/** Names that no shell interprets. */
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9@._-]*$/;

/**
 * Lists commands without quotes. CHANGE_ID stands for the id in the first answer, KEY_FILE for the SSH key of the name before it.
 * An approval that needs a passkey is the address of the console's page instead.
 */
export function listFirstSteps(url: string, intent: Intent, needsToken: TokenNeeds): string[] {
  const { self_approval, signing } = intent.policy;
  const api = `${url}/api/product`;
  const { tokenFile } = needsToken;
  const token = tokenFile !== undefined && PLAIN_PATH.test(tokenFile) ? `$(cat ${tokenFile})` : "$SVC_ADMIN_TOKEN";
  const curl = (isNeeded: boolean) => (isNeeded ? `curl -H X-Svc-Admin-Token:${token}` : "curl");
  const post = curl(needsToken.writes);
  const countersign = (verb: string) => `countersign ${verb} --url ${url}`;
  const approver = findPlainName(listElectors(intent) ?? ["ana"]) ?? "APPROVER";
  const canUseFile = listKeys(approver, signing).some(({ type }) => type === "ssh");
  const formatApproval = (): string => {
    if (!requiresSignature(approver, signing))
      return `${post} -d change_id=CHANGE_ID -d approver=${approver} ${api}/approve`;
    return canUseFile
      ? `${countersign("approve")} CHANGE_ID --approver ${approver} --key KEY_FILE`
      : `${url}/#/changes/CHANGE_ID`;
  };
  const proposer = findPlainName(Object.keys(signing.keys).filter((name) => name !== approver)) ?? "PROPOSER";
  // If nobody may approve their own change, a proposal must name its proposer.
  const proposerField = self_approval ? "" : " -d proposer=first-steps";
  const proposeUnsigned =
    intent.product_type === "crm"
      ? `${post} -d tenant_id=t1 -d affected_users=40 -d expected_delta_k=12${proposerField} ${api}/propose-crm-followup`
      : `${post} -d tenant_id=t1 -d kind=config -d target=ui.banner -d value=true -d summary=First${proposerField} ${api}/propose`;
  const propose =
    signing.signedOnly && !self_approval
      ? `${countersign("propose")} --tenant-id t1 --kind config --target ui.banner --summary First --proposer ${proposer} --key KEY_FILE`
      : proposeUnsigned;
  return [
    propose,
    formatApproval(),
    `${post} -d change_id=CHANGE_ID ${api}/apply`,
    `${curl(needsToken.writes && needsToken.reads)} ${api}/audit/verify`,
  ];
}

const findPlainName = (names: readonly string[]): string | undefined => names.find((name) => PLAIN.test(name));
