/** The mandates in a person's inbox. */
import { expect, test } from "vitest";
import { openWithMandates } from "../../support/mandates.ts";

test("the inbox lists mandates that are drafts, are suspended or end within three days", async () => {
  const { api, activate, draft, until, send, decideOn, propose, apply } = await openWithMandates();
  await activate({ targets: ["price.later"], until: until(10) });
  const soon = await activate({ targets: ["price.soon"], until: until(2) });
  const suspended = await activate();
  const drafted = (await draft()).body.mandate_id;
  // A revoked mandate is not listed.
  const revoked = await activate({ targets: ["price.revoked"], until: until(1) });
  await decideOn("mandate_revoke", revoked, "ana");
  const { change_id } = (await propose()).body;
  await apply(change_id);
  // The rollback suspends the mandate under which the change was applied.
  await send("rollback", { change_id, actor: "ana" });
  const due = async (person: string) => (await api.get(`/api/inbox?person=${person}`)).body.mandates;
  expect(await due("ana")).toMatchObject([
    { mandate_id: soon, state: "active", reason: null, waits_for_you: false },
    { mandate_id: suspended, state: "suspended", reason: "rollback", waits_for_you: true },
    { mandate_id: drafted, state: "draft", agent: "agent:pricing", waits_for_you: true },
  ]);
  // Olga is no approver, so none of the three waits for her.
  expect((await due("olga")).map((mandate: { waits_for_you: boolean }) => mandate.waits_for_you)).toEqual([
    false,
    false,
    false,
  ]);
});
