/** The story, step by step. All facts about the shop and the service were read from them just before. */

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** When the story begins, seen from now. */
export const BEGINS = -9 * DAY;

const ANA = "ana@teashop.example";
const READER = "bo@teashop.example";
const euros = (value) => `€${value.toFixed(2)}`;

/** Tells the story up to the change that waits for the reader; resolves with its id and page. */
export async function tell({ service, shop, agent, say }) {
  let clock = BEGINS;
  const later = (ms) => service.setClock((clock = Math.min(0, clock + ms)));
  const measure = async () => {
    const figures = await shop.figures();
    await service.post("api/product/kpi", { ...figures, actor: "till" });
    return figures;
  };
  const consentAndApply = async (change_id, note) => {
    await service.post("api/product/approve", { change_id, approver: ANA, note });
    await service.post("api/product/apply", { change_id, actor: ANA });
  };
  const outcomeOf = async (change_id) => (await service.get(`api/product/changes/${change_id}`)).outcome;

  await measure();
  await later(DAY);
  const before = await measure();

  const first = agent("free_delivery");
  const { change_id: delivery } = await first.reported("proposed");
  say(`1. The agent proposes over MCP: free delivery from €45 instead of €35. It promises that a basket, now
    ${euros(before.basket_value)}, is worth €2.50 more. The change waits for consent; the shop still says
    "${await shop.says("delivery.free_from")}".`);
  const { status, code } = await first.reported("tried_to_consent");
  say(`2. The agent tries to consent to its own change, and is refused (${status} ${code}). Its secret opens proposals, and
    never consent.`);
  await consentAndApply(delivery, "The margin bears it.");
  await first.reported("decided");
  say(`3. Ana consents, and the change is applied. The shop asks at each visit, and now says
    "${await shop.says("delivery.free_from")}".`);

  for (let day = 0; day < 7; day++) {
    await later(DAY);
    await measure();
  }
  await service.post("api/action/run-now", { action: "cycle" });
  const { baseline, current, expected_delta_k, realised_delta, verdict } = await outcomeOf(delivery);
  say(`4. A week passes in which the shop's figures are fed each day. A basket was worth ${euros(baseline)} and is worth
    ${euros(current)}: ${euros(expected_delta_k)} were promised, ${euros(realised_delta)} came, so the verdict is
    "${verdict}". It stands beside the promise, for whoever is asked the next time.`);

  const second = agent("sign_in");
  const { change_id: signIn } = await second.reported("proposed");
  await consentAndApply(signIn, "Worth a try, with the guardrail.");
  await second.reported("decided");
  const sentence = await shop.says("checkout.guests");
  await later(2 * HOUR);
  const { checkout_rate } = await measure();
  await service.post("api/action/run-now", { action: "cycle" });
  const taken = await outcomeOf(signIn);
  say(`5. The agent's next proposal, "${sentence}", gets its consent too, and is wrong: of 100 baskets ${checkout_rate} become
    orders instead of ${taken.baseline}. The shop's rules allow a loss of 3, so the service takes the change back by
    itself. The shop says "${await shop.says("checkout.guests")}" again; the verdict is "${taken.verdict}".`);

  say(`6. countersign-verify, a program of its own, checks the exported log without the service: all ${await service.verify()}
    entries hold, and none is missing.`);

  await service.setClock(0);
  await measure();
  const third = agent("delivery_day");
  const { change_id, page } = await third.reported("proposed");
  say(`7. Your turn. The agent proposes to show the day of delivery, and this change waits for you:`);
  return { change_id, page };
}

/**
 * Continues the story as the reader decides, until there is nothing left to decide; a `reader` who stands in ends at the apply.
 */
export async function follow({ service, shop, say, reader }, change_id) {
  const shown = () => shop.says("page.delivery_day");
  const MESSAGES = {
    approved: async ({ approvals }) =>
      `${approvals.at(-1).approver} consents. Nothing has changed yet: the shop says "${await shown()}". What is left is to apply it.`,
    applied: async () => {
      await service.post("api/product/kpi", { ...(await shop.figures()), actor: "till" });
      return `It is applied, and the shop says "${await shown()}". The log has ${await service.verify()} entries now, and holds.
        ${reader ? "" : "On the same page it can be taken back."}`;
    },
    rolled_back: async () => `It is taken back, and the shop says "${await shown()}" again.`,
    denied: async () => `It ends without consent, and the shop says "${await shown()}", as before.`,
  };
  for (let status = "pending_consent"; !["denied", "rolled_back"].includes(status);) {
    await reader?.[status]();
    const change = await service.moved(change_id, status);
    ({ status } = change);
    say(`   ${await MESSAGES[status](change)}`);
    if (reader && status === "applied") return;
  }
}

/** A reader who agrees: what they do with the change in each status. */
export const makeReader = (service, change_id) => ({
  pending_consent: () =>
    service.post("api/product/approve", { change_id, approver: READER, note: "Customers ask for it." }),
  approved: () => service.post("api/product/apply", { change_id, actor: READER }),
});
