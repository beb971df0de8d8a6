/** The commands that take a first change all the way: logged while there is none, to be copied into a shell. */
import type { Intent } from "../lib/changes/rules/intent.ts";
import { listElectors } from "../lib/changes/rules/policy.ts";
import { listKeys, requiresSignature } from "../lib/changes/rules/signing.ts";

/** Names that mean themselves to every shell. */
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9@._-]*$/;

/**
 * Commands without quotes; CHANGE_ID stands for the id that the first one answers, and KEY_FILE for the SSH key of the name
 * before it. Where a decision must be signed with a passkey, the page to do it on.
 */
export function firstSteps(url: string, intent: Intent, needsToken: { writes: boolean; reads: boolean }): string[] {
  const { self_approval, signing } = intent.policy;
  const api = `${url}/api/product`;
  const curl = (token: boolean) => (token ? "curl -H X-Svc-Admin-Token:$SVC_ADMIN_TOKEN" : "curl");
  const post = curl(needsToken.writes);
  const countersign = (verb: string) => `countersign ${verb} --url ${url}`;
  const approver = plainOne(listElectors(intent) ?? ["ana"]) ?? "APPROVER";
  const canUseFile = listKeys(approver, signing).some(({ type }) => type === "ssh");
  const approve = !requiresSignature(approver, signing)
    ? `${post} -d change_id=CHANGE_ID -d approver=${approver} ${api}/approve`
    : canUseFile
      ? `${countersign("approve")} CHANGE_ID --approver ${approver} --key KEY_FILE`
      : `${url}/changes/CHANGE_ID`;
  const proposer = plainOne(Object.keys(signing.keys).filter((name) => name !== approver)) ?? "PROPOSER";
  const propose =
    signing.only && !self_approval
      ? `${countersign("propose")} --tenant-id t1 --kind config --target ui.banner --summary First --proposer ${proposer} --key KEY_FILE`
      : `${post} -d tenant_id=t1 -d affected_users=40 -d expected_delta_k=12${self_approval ? "" : " -d proposer=first-steps"} ${api}/propose-crm-followup`;
  return [
    propose,
    approve,
    `${post} -d change_id=CHANGE_ID ${api}/apply`,
    `${curl(needsToken.writes && needsToken.reads)} ${api}/audit/verify`,
  ];
}

const plainOne = (names: readonly string[]): string | undefined => names.find((name) => PLAIN.test(name));
