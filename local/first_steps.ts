/** The commands that take a first change all the way: logged while there is none, to be copied into a shell. */
import type { Policy } from "../lib/governance/rules/intent.ts";

/** Names that mean themselves to every shell. */
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9@._-]*$/;

/** `curl` commands without quotes; CHANGE_ID stands for the id that the first one answers. */
export function firstSteps(url: string, policy: Policy, needsToken: { writes: boolean; reads: boolean }): string[] {
  const api = `${url}/api/product`;
  const curl = (token: boolean) => (token ? "curl -H X-Svc-Admin-Token:$SVC_ADMIN_TOKEN" : "curl");
  const post = curl(needsToken.writes);
  const approver = policy.approvers ? (policy.approvers.find((name) => PLAIN.test(name)) ?? "APPROVER") : "ana";
  const proposer = policy.self_approval ? "" : " -d proposer=first-steps";
  return [
    `${post} -d tenant_id=t1 -d affected_users=40 -d expected_delta_k=12${proposer} ${api}/propose-crm-followup`,
    `${post} -d change_id=CHANGE_ID -d approver=${approver} ${api}/approve`,
    `${post} -d change_id=CHANGE_ID ${api}/apply`,
    `${curl(needsToken.writes && needsToken.reads)} ${api}/audit/verify`,
  ];
}
