/** The first three weeks: Monday, 12 October, to Sunday, 1 November 2026. */
import type { Month } from "./acts.ts";
import { ANA, BO, CHEN, DANA, ERIN, GIL, PRICING } from "./people.ts";

/** Plays these weeks. */
export async function october(month: Month): Promise<void> {
  await firstWeek(month);
  await secondWeek(month);
  await thirdWeek(month);
}

async function firstWeek(month: Month): Promise<void> {
  const { advanceTo, feed, propose, approve, apply, deny, proposeForbidden, say, task, rate } = month;
  await advanceTo("10-12 08:00");
  await feed({ nrr_quarterly: 1.02, incident_rate: 0.04, csat: 4, deal_win_rate: 0.2 }, "Monthly close of September");
  await advanceTo("10-12 09:00");
  await propose("short form", DANA, {
    tenant: "northwind",
    kind: "workflow",
    target: "signup.short_form",
    summary: "Shorten the sign-up form to three fields",
    rationale: "Half of the visitors leave at the fourth field",
    affected_users: 1200,
    kpi: "deal_win_rate",
    expected: 0.02,
  });
  await advanceTo("10-12 11:00");
  await approve("short form", BO, "Tested with ten users");
  await advanceTo("10-12 14:00");
  await apply("short form", ANA);

  await advanceTo("10-13 09:30");
  await say(GIL, "hi there");
  await propose("banner", BO, {
    tenant: "t1",
    kind: "config",
    target: "ui.banner",
    summary: "Show the maintenance banner",
    tier: "minor",
    affected_users: 30,
    risk: "low",
    reversible: true,
  });
  await advanceTo("10-13 10:00");
  await apply("banner", BO);
  await propose("retry limit", BO, {
    tenant: "globex",
    kind: "config",
    target: "limits.retries",
    summary: "Retry a failed call at most three times",
    rationale: "Endless retries kept the mail server busy in September",
    risk: "low",
    affected_users: 400,
    kpi: "incident_rate",
    expected: 0.01,
  });
  await advanceTo("10-13 16:00");
  await approve("retry limit", CHEN, "Operations asked for it");
  await advanceTo("10-14 09:00");
  await apply("retry limit", CHEN);

  await advanceTo("10-14 10:00");
  await propose("privacy notice", DANA, {
    tenant: "initech",
    kind: "config",
    target: "legal.privacy_notice",
    summary: "Show the new privacy notice at sign-in",
    rationale: "The law asks for it from November on",
    risk: "high",
    affected_users: 5000,
    kpi: "csat",
    expected: 0.2,
  });
  await advanceTo("10-14 15:00");
  await approve("privacy notice", ANA, "Wording checked", { leaves: "pending_consent" });
  await task(DANA, { title: "What failed last week?", priority: "high", dimension: "R" });
  await advanceTo("10-15 09:00");
  await approve("privacy notice", CHEN, "Legal signed the text");
  await rate("What failed last week?", ANA, 4, "Short and to the point");
  await advanceTo("10-15 11:00");
  await propose("discount cap", PRICING, {
    tenant: "t1",
    kind: "config",
    target: "pricing.discount_cap",
    summary: "Cap discounts at 15 percent",
    rationale: "Discounts above 15 percent did not win more deals",
    affected_users: 300,
    kpi: "nrr_quarterly",
    expected: 0.03,
  });
  await advanceTo("10-15 14:00");
  await approve("discount cap", BO, "", { leaves: "pending_consent" });
  await advanceTo("10-16 08:30");
  await apply("privacy notice", ANA);
  await advanceTo("10-16 10:00");
  await approve("discount cap", ERIN, "Within budget");
  await propose("dark mode", DANA, {
    tenant: "t1",
    kind: "feature_flag",
    target: "ui.dark_mode",
    summary: "Offer a dark mode",
    affected_users: 2000,
  });
  await advanceTo("10-16 12:00");
  await proposeForbidden(PRICING, {
    tenant: "t1",
    kind: "config",
    target: "billing.invoice",
    summary: "Round invoices up",
  });
  await advanceTo("10-16 17:00");
  await deny("dark mode", BO, "Not before the accessibility review");
}

async function secondWeek(month: Month): Promise<void> {
  const { advanceTo, feed, propose, draft, approve, apply, failing, withdraw, say } = month;
  await advanceTo("10-19 08:00");
  await feed({ nrr_quarterly: 1.03, incident_rate: 0.038, csat: 4.1, deal_win_rate: 0.2 });
  await advanceTo("10-19 10:00");
  await apply("discount cap", BO);
  await advanceTo("10-20 09:00");
  await propose("lead routing", ANA, {
    tenant: "northwind",
    kind: "workflow",
    target: "crm.lead_routing",
    summary: "Send each lead to the seller nearest to it",
    rationale: "Leads wait two days for a seller",
    affected_users: 60,
    kpi: "nrr_quarterly",
    expected: 0.01,
  });
  await propose("weekly digest", BO, {
    tenant: "globex",
    kind: "workflow",
    target: "mail.digest",
    summary: "Send one digest a week",
    rationale: "Customers complain about daily mails",
  });
  await advanceTo("10-20 15:00");
  await approve("lead routing", CHEN);
  await say(GIL, "Support says that the short form loses phone numbers.");
  await advanceTo("10-21 09:00");
  await apply("lead routing", ANA);
  await propose("beta search", DANA, {
    tenant: "initech",
    kind: "experiment",
    target: "search.beta",
    summary: "Try the new search with one customer",
  });
  await advanceTo("10-22 10:00");
  await withdraw("weekly digest", BO, "Superseded by the new mail tool");
  await propose("queue size", CHEN, {
    tenant: "globex",
    kind: "config",
    target: "crm.queue_size",
    summary: "Double the size of the work queue",
    rationale: "Jobs were dropped at peak hours",
    risk: "low",
    kpi: "incident_rate",
    expected: 0.005,
  });
  await advanceTo("10-22 14:00");
  await approve("queue size", ANA, "Memory is enough");
  await advanceTo("10-22 15:00");
  await failing("apply", "queue size", CHEN, "disk full");
  await advanceTo("10-22 15:10");
  await failing("apply", "queue size", CHEN, "disk full");
  await advanceTo("10-23 09:00");
  await apply("queue size", CHEN);
  await advanceTo("10-23 10:00");
  await draft("fewer mails", DANA, {
    tenant: "t1",
    kind: "config",
    target: "mail.frequency",
    summary: "Send at most two mails a week",
    rationale: "Unsubscribes doubled since August",
    affected_users: 900,
    kpi: "csat",
    expected: 0.1,
  });
  await advanceTo("10-23 13:00");
  await approve("fewer mails", BO, "Marketing agrees");
  await advanceTo("10-23 14:00");
  await apply("fewer mails", BO);
}

async function thirdWeek(month: Month): Promise<void> {
  const {
    advanceTo,
    cycle,
    feed,
    propose,
    approve,
    apply,
    applyRefused,
    rollback,
    freeze,
    recordByTime,
    say,
    host,
    idOf,
  } = month;
  await advanceTo("10-26 08:00");
  await feed({ nrr_quarterly: 1.035, csat: 4.15, deal_win_rate: 0.19 });
  // The beta search expires five days after its proposal, without a decision. The time counts once two cycles confirm it.
  await advanceTo("10-26 09:15");
  await cycle();
  await advanceTo("10-26 09:30");
  await cycle();
  recordByTime("expired", "beta search");
  await advanceTo("10-27 09:00");
  await propose("back-off", DANA, {
    tenant: "northwind",
    kind: "config",
    target: "limits.back_off",
    summary: "Wait longer between two retries",
    rationale: "Retries come in waves",
    affected_users: 150,
    kpi: "incident_rate",
    expected: 0.01,
  });
  await propose("lead scoring", DANA, {
    tenant: "t1",
    kind: "config",
    target: "crm.lead_scoring",
    summary: "Score leads by their last visit",
    rationale: "Sellers call the wrong leads first",
    kpi: "deal_win_rate",
    expected: 0.01,
  });
  await advanceTo("10-27 15:00");
  await approve("back-off", ANA, "Try it for a week");
  await advanceTo("10-28 09:00");
  await apply("back-off", CHEN);
  await advanceTo("10-28 10:00");
  await approve("lead scoring", BO, "Sales asked for it");
  await advanceTo("10-28 20:00");
  // The rate was 0.038, so the guardrail, which allows a rise of 0.02, rolls the back-off back.
  await feed({ incident_rate: 0.065 }, "After the outage in the evening");
  await advanceTo("10-28 20:05");
  await cycle();
  recordByTime("rolled_back", "back-off");
  await advanceTo("10-29 09:00");
  await rollback("short form", CHEN, "Sales could not reach leads without a phone number");
  await advanceTo("10-29 10:00");
  await say(CHEN, "为什么回滚了短表单？");
  await advanceTo("10-29 18:00");
  await freeze(ANA, "Quarter end", "2026-11-01T18:00:00.000Z");
  // Another program changes the queue size.
  host.host.delete(idOf("queue size"));
  await advanceTo("10-29 23:50");
  recordByTime("drifted", "queue size");
  await advanceTo("10-30 02:30");
  await propose("login outage", CHEN, {
    tenant: "northwind",
    kind: "code_patch",
    target: "auth.session",
    summary: "Accept sessions of the old key again",
    rationale: "Since the key rotation nobody can sign in",
    risk: "high",
    affected_users: 8000,
  });
  await advanceTo("10-30 02:40");
  await approve("login outage", ANA, "Customers cannot sign in", { emergency: true });
  await advanceTo("10-30 02:50");
  await apply("login outage", CHEN);
  await advanceTo("10-30 11:00");
  await applyRefused("lead scoring", BO, "frozen");
  await advanceTo("10-30 16:00");
  // The queue size has its value again.
  host.host.set(idOf("queue size"), "applied");
  await advanceTo("10-30 23:50");
  recordByTime("drift_mended", "queue size");
}
