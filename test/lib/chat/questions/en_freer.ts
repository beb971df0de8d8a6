import type { Question } from "../../../support/questions.ts";

/** Twenty English questions in freer words: an approver, a product manager, an auditor and whoever is on call. */
export const questions: readonly Question[] = [
  {
    ask: "Anything on my desk that needs a sign-off before the end of the week?",
    by: "bo@acme.example",
    language: "en",
    must: ["data retention", "reminder mails", "guest checkout", "mail loop", /2026-11-18/],
    mustNot: ["seat limit"],
  },
  { ask: "Which change touched the most people?", language: "en", must: ["data retention", 10000] },
  {
    ask: "How long did the privacy notice take from proposal to going live?",
    language: "en",
    must: ["privacy notice", /1 day 22 h 30 min|46(?:\.5| h 30)/],
  },
  {
    ask: "Which proposal sat around longest before somebody decided on it?",
    language: "en",
    must: ["merge accounts", /3 days 23 h|95 h/],
    mustNot: ["beta search"],
  },
  {
    ask: "How many attempts did it take to get the queue size out?",
    language: "en",
    must: ["queue size", 3, /disk full/],
  },
  {
    ask: "What runs out tomorrow if nobody acts?",
    language: "en",
    must: ["merge accounts", "mail loop"],
    mustNot: ["data retention", "guest checkout", "seat limit"],
  },
  {
    ask: "Who gave the go-ahead for the onboarding tour, and in what words?",
    language: "en",
    must: ["onboarding tour", /\bbo\b/i, /good idea, keep it short/i],
  },
  {
    ask: "Which ideas got knocked back, by whom and on what grounds?",
    language: "en",
    must: [
      ...["dark mode", "price rounding", "export format"],
      ...[/accessibility review/i, /hides the tax/i, /breaks the importer/i],
    ],
    mustNot: ["beta search", "lead scoring", "weekly digest", "cache size"],
  },
  {
    ask: "Did anything ship while the freeze was on?",
    language: "en",
    must: ["login outage", /\bchen\b/i],
    mustNot: ["lead scoring", "trial length", "short form"],
  },
  {
    ask: "Which KPIs has nobody updated for over a week?",
    language: "en",
    must: ["deal_win_rate", "incident_rate"],
    mustNot: [/csat|nrr_quarterly/],
  },
  {
    ask: "What is stuck right now, and whose move is it?",
    language: "en",
    must: ["data retention", "bundle price", "merge accounts", "seat limit", /erin@/, /bo@/],
  },
  { ask: "How many people would guest checkout reach?", language: "en", must: ["guest checkout", 1500] },
  { ask: "When do the reminder mails run out of time?", language: "en", must: ["reminder mails", /2026-11-19/] },
  {
    ask: "What was lead routing supposed to bring us, and did it?",
    language: "en",
    must: ["lead routing", "nrr_quarterly", 0.01, /\bkept\b|\bmet\b/i],
  },
  {
    ask: "Whose proposals fell through?",
    language: "en",
    must: [
      ...["dark mode", "price rounding", "export format", "weekly digest", "beta search", "lead scoring", "cache size"],
      ...[/\bdana\b/i, "agent:pricing"],
    ],
    mustNot: ["short form", "guest checkout"],
  },
  {
    ask: "Which changes were pulled after going live, and why?",
    language: "en",
    must: ["short form", "back-off", "fewer mails", /without a phone number/i, /missed their renewals/i],
    mustNot: ["weekly digest", "cache size"],
  },
  {
    ask: "Which of Dana's proposals are still waiting, and for whom?",
    language: "en",
    must: ["guest checkout", /bo@/],
    mustNot: ["bundle price", "data retention"],
  },
  { ask: "Is there anything here that I must not touch?", language: "en", must: [/billing/i] },
  {
    ask: "Which changes cannot be undone?",
    language: "en",
    must: ["merge accounts"],
    mustNot: ["short form", "data retention", "back-off"],
  },
  {
    ask: "What broke last week? And has anybody fiddled with the log?",
    language: "en",
    must: ["seat limit", "fewer mails", /\bintact\b|\bholds?\b/],
    mustNot: ["queue size"],
  },
];
