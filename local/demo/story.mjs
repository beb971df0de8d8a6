/** The story of the demo. Each value in its sentences was read from the shop or the service just before. */

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** How far in the past the story begins. */
export const START_OFFSET_MS = -9 * DAY;

const ANA = "ana@teashop.example";
const USER = "bo@teashop.example";
const formatEuros = (value) => `€${value.toFixed(2)}`;

/** Plays the story up to the change that the user decides; resolves with its id and page. */
export async function tellStory({ service, shop, agent, say }) {
  let offsetMs = START_OFFSET_MS;
  // The service's clock never goes beyond the real time.
  const advanceClock = (ms) => service.setClock((offsetMs = Math.min(0, offsetMs + ms)));
  const measure = async () => {
    const kpis = await shop.measure();
    await service.post("api/product/kpi", { ...kpis, actor: "till" });
    return kpis;
  };
  const consentAndApply = async (change_id, note) => {
    await service.post("api/product/approve", { change_id, approver: ANA, note });
    await service.post("api/product/apply", { change_id, actor: ANA });
  };
  const readOutcome = async (change_id) => (await service.get(`api/product/changes/${change_id}`)).outcome;

  await measure();
  await advanceClock(DAY);
  const before = await measure();

  const firstAgent = agent("free_delivery");
  const { change_id: delivery } = await firstAgent.waitForEvent("proposed");
  say(`1. The agent proposes over MCP: free delivery from €45 instead of €35. It promises that a basket, now
    ${formatEuros(before.basket_value)}, is worth €2.50 more. The change waits for consent; the shop still says
    "${await shop.readText("delivery.free_from")}".`);
  const { status, code } = await firstAgent.waitForEvent("tried_to_consent");
  say(`2. The agent tries to consent to its own change, and is refused (${status} ${code}). Its secret opens proposals, and
    never consent.`);
  await consentAndApply(delivery, "The margin bears it.");
  await firstAgent.waitForEvent("decided");
  say(`3. Ana consents, and the change is applied. The shop asks at each visit, and now says
    "${await shop.readText("delivery.free_from")}".`);

  for (let day = 0; day < 7; day++) {
    await advanceClock(DAY);
    await measure();
  }
  await service.post("api/action/run-now", { action: "cycle" });
  const { baseline, current, expected_delta_k, realised_delta, verdict } = await readOutcome(delivery);
  say(`4. A week passes in which the shop's figures are fed each day. A basket was worth ${formatEuros(baseline)} and is worth
    ${formatEuros(current)}: ${formatEuros(expected_delta_k)} were promised, ${formatEuros(realised_delta)} came, so the verdict is
    "${verdict}". Approvers of later changes see it.`);

  const secondAgent = agent("sign_in");
  const { change_id: signIn } = await secondAgent.waitForEvent("proposed");
  await consentAndApply(signIn, "Worth a try, with the guardrail.");
  await secondAgent.waitForEvent("decided");
  const sentence = await shop.readText("checkout.guests");
  await advanceClock(2 * HOUR);
  const { checkout_rate } = await measure();
  await service.post("api/action/run-now", { action: "cycle" });
  const lostOutcome = await readOutcome(signIn);
  say(`5. The agent's next proposal, "${sentence}", gets its consent too, and is wrong: of 100 baskets ${checkout_rate} become
    orders instead of ${lostOutcome.baseline}. The shop's rules allow a loss of 3, so the service takes the change back by
    itself. The shop says "${await shop.readText("checkout.guests")}" again; the verdict is "${lostOutcome.verdict}".`);

  say(`6. countersign-verify, a program of its own, checks the exported log without the service: all ${await service.verify()}
    entries hold, and none is missing.`);

  await service.setClock(0);
  await measure();
  const thirdAgent = agent("delivery_day");
  const { change_id, page } = await thirdAgent.waitForEvent("proposed");
  say(`7. Your turn. The agent proposes to show the day of delivery, and this change waits for you:`);
  return { change_id, page };
}

/**
 * Prints each status that the change gets, until it is denied or rolled back. A simulated `user` decides instead of the real
 * one, and ends with the apply.
 */
export async function followChange({ service, shop, say, user }, change_id) {
  const readSentence = () => shop.readText("page.delivery_day");
  const MESSAGES = {
    approved: async ({ approvals }) =>
      `${approvals.at(-1).approver} consents. Nothing has changed yet: the shop says "${await readSentence()}". What is left is to apply it.`,
    applied: async () => {
      await service.post("api/product/kpi", { ...(await shop.measure()), actor: "till" });
      return `It is applied, and the shop says "${await readSentence()}". The log has ${await service.verify()} entries now, and holds.
        ${user ? "" : "On the same page it can be taken back."}`;
    },
    rolled_back: async () => `It is taken back, and the shop says "${await readSentence()}" again.`,
    denied: async () => `It ends without consent, and the shop says "${await readSentence()}", as before.`,
  };
  for (let status = "pending_consent"; !["denied", "rolled_back"].includes(status);) {
    await user?.[status]();
    const change = await service.waitForMove(change_id, status);
    ({ status } = change);
    say(`   ${await MESSAGES[status](change)}`);
    if (user && status === "applied") return;
  }
}

/** Simulates a user who agrees: the action in each status of the change. */
export const createUser = (service, change_id) => ({
  pending_consent: () =>
    service.post("api/product/approve", { change_id, approver: USER, note: "Customers ask for it." }),
  approved: () => service.post("api/product/apply", { change_id, actor: USER }),
});
