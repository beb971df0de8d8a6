/** The last two weeks and a Monday morning: 2 to 16 November 2026. */
import type { Month } from "./acts.ts";
import { ANA, BO, CHEN, DANA, ERIN, GIL, PRICING } from "./people.ts";

/** Plays these weeks. */
export async function november(month: Month): Promise<void> {
  await fourthWeek(month);
  await fifthWeek(month);
  await lastMonday(month);
}

async function fourthWeek(month: Month): Promise<void> {
  const { advanceTo, cycle, feed, propose, approve, apply, deny, review, recordByTime, say, task, rate, host, idOf } =
    month;
  await advanceTo("11-02 08:00");
  await feed({ nrr_quarterly: 1.045, incident_rate: 0.028, csat: 4.1 });
  await advanceTo("11-02 09:30");
  await say(DANA, "Good morning everybody");
  await review("login outage", BO, "There was no other way that night");
  await advanceTo("11-03 10:00");
  await propose("price rounding", PRICING, {
    tenant: "globex",
    kind: "config",
    target: "pricing.rounding",
    summary: "Round prices to whole euros",
    kpi: "nrr_quarterly",
    expected: 0.005,
  });
  await propose("merge accounts", BO, {
    tenant: "northwind",
    kind: "workflow",
    target: "crm.merge_accounts",
    summary: "Merge duplicate accounts",
    rationale: "A fifth of the accounts exist twice",
    reversible: false,
    risk: "high",
    affected_users: 3000,
  });
  // Another program removes the banner.
  host.host.delete(idOf("banner"));
  await advanceTo("11-03 23:50");
  recordByTime("drifted", "banner");
  await advanceTo("11-04 09:00");
  await deny("price rounding", ERIN, "Rounding hides the tax");
  await advanceTo("11-04 10:00");
  await propose("trial length", BO, {
    tenant: "initech",
    kind: "config",
    target: "trial.days",
    summary: "Let a trial last 21 days",
    rationale: "Many trials end before the second meeting",
    affected_users: 700,
    kpi: "nrr_quarterly",
    expected: 0.02,
  });
  await advanceTo("11-05 09:00");
  await approve("trial length", CHEN, "Worth a try");
  await advanceTo("11-05 10:00");
  await apply("trial length", BO);
  await advanceTo("11-05 14:00");
  await propose("cache size", CHEN, {
    tenant: "northwind",
    kind: "config",
    target: "cache.size",
    summary: "Give the cache 4 GB",
    rationale: "Pages load slowly in the morning",
    risk: "low",
  });
  await propose("reply time", DANA, {
    tenant: "t1",
    kind: "workflow",
    target: "support.reply_time",
    summary: "Answer every ticket within a day",
    rationale: "Customers wait three days for an answer",
    affected_users: 40,
  });
  await advanceTo("11-06 09:00");
  await approve("cache size", ANA, "Servers have room");
  await approve("merge accounts", ANA, "Backup is tested", { leaves: "pending_consent" });
  await approve("reply time", BO, "Support has the people");
  await task(CHEN, { title: "What moved this month?", priority: "normal", dimension: "E" });
  await advanceTo("11-06 11:00");
  await apply("reply time", BO);
  await advanceTo("11-07 09:00");
  await approve("merge accounts", CHEN, "Run it at night");
  await rate("What moved this month?", CHEN, 2, "Too long");
  // Lead scoring lapses ten days after its consent, without an apply. An expiry needs two samples of the clock, so two cycles.
  await advanceTo("11-07 10:15");
  await cycle();
  await advanceTo("11-07 10:30");
  await cycle();
  recordByTime("lapsed", "lead scoring");
}

async function fifthWeek(month: Month): Promise<void> {
  const { advanceTo, feed, propose, draft, approve, apply, deny, revoke, failing, rollback, say } = month;
  await advanceTo("11-09 08:00");
  await feed({ nrr_quarterly: 1.04, csat: 4.1 });
  await advanceTo("11-09 09:00");
  await revoke("cache size", ANA, "The load test showed swapping");
  await advanceTo("11-10 09:00");
  await propose("onboarding tour", DANA, {
    tenant: "northwind",
    kind: "experiment",
    target: "onboarding.tour",
    summary: "Show new users around",
    rationale: "New users ask support how to begin",
    affected_users: 250,
    kpi: "csat",
    expected: 0.1,
  });
  await advanceTo("11-11 09:00");
  await approve("onboarding tour", BO, "Good idea, keep it short");
  await propose("seat limit", BO, {
    tenant: "globex",
    kind: "config",
    target: "limits.seats",
    summary: "Raise the seat limit to 500",
    rationale: "The customer grows",
    risk: "low",
    affected_users: 480,
  });
  await advanceTo("11-11 16:00");
  await failing("rollback", "fewer mails", CHEN, "host unreachable");
  await advanceTo("11-12 09:00");
  await rollback("fewer mails", CHEN, "Customers missed their renewals");
  await apply("onboarding tour", BO);
  await propose("export format", DANA, {
    tenant: "initech",
    kind: "workflow",
    target: "export.format",
    summary: "Export as spreadsheet",
    rationale: "Accountants ask for it",
  });
  await advanceTo("11-12 11:00");
  await approve("seat limit", CHEN, "Licences are paid");
  await advanceTo("11-12 14:00");
  await failing("apply", "seat limit", CHEN, "connection refused");
  await advanceTo("11-12 16:00");
  await deny("export format", ANA, "It breaks the importer");
  await advanceTo("11-13 10:00");
  await propose("data retention", CHEN, {
    tenant: "northwind",
    kind: "config",
    target: "data.retention",
    summary: "Delete visits after 90 days",
    rationale: "Storage costs doubled",
    risk: "high",
    affected_users: 10000,
  });
  await advanceTo("11-13 11:00");
  await propose("bundle price", PRICING, {
    tenant: "t1",
    kind: "config",
    target: "pricing.bundle",
    summary: "Sell mail and calendar together",
    rationale: "Most customers buy both",
    kpi: "nrr_quarterly",
    expected: 0.01,
  });
  await advanceTo("11-13 15:00");
  await approve("data retention", ANA, "Storage is costly", { leaves: "pending_consent" });
  await approve("bundle price", BO, "", { leaves: "pending_consent" });
  await advanceTo("11-13 16:00");
  await say(GIL, "I heard that legal has approved data retention.");
  await advanceTo("11-14 22:00");
  await propose("mail loop", ANA, {
    tenant: "t1",
    kind: "code_patch",
    target: "mail.loop_guard",
    summary: "Stop mails that answer themselves",
    rationale: "One customer got 4000 mails in an hour",
    risk: "high",
    affected_users: 20,
  });
  await advanceTo("11-14 22:10");
  await approve("mail loop", CHEN, "4000 mails an hour", { emergency: true });
  await advanceTo("11-14 22:15");
  await apply("mail loop", ANA);
  await draft("reminder mails", DANA, {
    tenant: "globex",
    kind: "workflow",
    target: "mail.reminders",
    summary: "Remind customers a week before renewal",
    rationale: "Renewals are forgotten",
    affected_users: 600,
  });
  await advanceTo("11-15 18:00");
  await propose("guest checkout", DANA, {
    tenant: "t1",
    kind: "feature_flag",
    target: "shop.guest_checkout",
    summary: "Let guests buy without an account",
    rationale: "A third of the baskets are left at the login",
    affected_users: 1500,
  });
}

async function lastMonday(month: Month): Promise<void> {
  const { advanceTo, cycle, feed, task, say } = month;
  await advanceTo("11-16 08:00");
  await feed({ nrr_quarterly: 1.05, csat: 4.2 });
  await advanceTo("11-16 08:30");
  await cycle();
  await advanceTo("11-16 09:00");
  await say(BO, "thanks for the weekend shift");
  await task(BO, { title: "List what is overdue", priority: "low", dimension: "N" });
  await advanceTo("11-16 09:30");
}
