/** Both verifiers accept a consent that a stricter intent required during a rollout. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { verifyCertificate } from "../../../local/verify/certificate.ts";
import { restartDeps } from "../../support/deps.ts";
import { AGENTS, openRollout, sample } from "../../support/rollouts.ts";
import { makeService } from "../../support/service.ts";

const DRIVER = `
import json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "docs")
import verify_audit
print(json.dumps(verify_audit.CertificateCheck().verify(sys.stdin.buffer.read())))
`;

test("a certificate with a consent during a rollout has no findings", async () => {
  const { api, change_id, feed, passHours } = await openRollout({ policy: { approvers: ["ana", "bo"] } });
  passHours(24);
  await feed([sample(api)]);
  const intent = { principals: AGENTS, policy: { approvers: ["bo"] } };
  const later = makeService(await restartDeps(api.deps, { intent }));
  expect((await later.post("approve", { change_id, approver: "bo" })).status).toBe(200);
  const { text } = await later.get(`changes/${change_id}/certificate`);
  const report = verifyCertificate(Buffer.from(text), { acceptedManifests: [] });
  expect(report.findings).toEqual([]);
  expect(report.steps.map(({ event, status }) => [event, status]).slice(-2)).toEqual([
    ["change_applied", "applied"],
    ["consent_decision", "applied"],
  ]);
  const { stdout } = spawnSync("python3", ["-c", DRIVER], { input: text, encoding: "utf8" });
  expect(JSON.parse(stdout)).toMatchObject({ findings: [], steps: JSON.parse(JSON.stringify(report.steps)) });
});
