/** Commands that the service suggests while there is no change. */
import { expect, test } from "vitest";
import { listFirstSteps } from "../../local/first_steps.ts";
import { makeIntent } from "../support/intents.ts";

const URL = "http://127.0.0.1:8420";
const listFor = (
  manifest: Parameters<typeof makeIntent>[0],
  needs: Partial<Parameters<typeof listFirstSteps>[2]> = {},
) => listFirstSteps(URL, makeIntent(manifest).intent, { writes: false, reads: false, ...needs });

test("only a CRM gets the follow-up as its first change", () => {
  expect(listFor({ product_type: "crm" })[0]).toContain("/propose-crm-followup");
  expect(listFor({ product_type: "logistics" })[0]).toMatch(
    /-d kind=config -d target=\S+ .* \S+\/api\/product\/propose$/,
  );
});

test.each([
  [undefined, "$SVC_ADMIN_TOKEN"],
  ["secrets/admin.token", "$(cat secrets/admin.token)"],
  // The name of this file would need quotes.
  ["my token", "$SVC_ADMIN_TOKEN"],
])("with the token file %s the commands send the token %s", (tokenFile, token) => {
  const [propose, , apply, verify] = listFor({}, { writes: true, tokenFile });
  for (const command of [propose, apply]) expect(command).toContain(`curl -H X-Svc-Admin-Token:${token} -d `);
  // Reads are open here.
  expect(verify).not.toContain("Token");
});
