import type { Question } from "../../../support/questions.ts";

/** Twenty English questions by people who are new to the service and have read its manual and the month alone. */
export const questions: readonly Question[] = [
  {
    ask: "Hi, what's on my plate this morning? What do I still have to approve?",
    by: "chen@acme.example",
    language: "en",
    must: ["reminder mails", "guest checkout"],
  },
  {
    ask: "Who turned down the export format, and on what grounds?",
    language: "en",
    must: ["export format", /\bana\b/i, /breaks the importer/i],
  },
  {
    ask: "How many changes does each tenant have, all told?",
    language: "en",
    must: [/\bt1\b/, "northwind", "globex", "initech", 9, 8, 6, 4],
  },
  {
    ask: "Which high-risk changes were applied since 1 October?",
    language: "en",
    must: ["privacy notice", "login outage", "mail loop"],
    mustNot: ["merge accounts", "data retention"],
  },
  {
    ask: "Is anything drifting right now, and since when?",
    language: "en",
    must: ["banner", /2026-11-03/],
    mustNot: ["queue size"],
  },
  {
    ask: "What went wrong between 9 and 15 November?",
    language: "en",
    must: ["seat limit", "fewer mails"],
    mustNot: ["trial length", "lead scoring", "queue size"],
  },
  {
    ask: "What ever became of lead scoring?",
    by: "dana@acme.example",
    language: "en",
    must: ["lead scoring", /lapsed|expired/i, /2026-11-07/],
  },
  {
    ask: "Which KPI is the onboarding tour supposed to move, and by how much?",
    language: "en",
    must: ["onboarding tour", "csat", 0.1],
  },
  {
    ask: "Has anybody tampered with the audit log?",
    language: "en",
    must: [/\bintact\b|\bvalid\b|\bunbroken\b|\bholds\b/i],
    mustNot: [/not intact|\bis (broken|invalid)\b/i],
  },
  {
    ask: "What happened in globex last week?",
    language: "en",
    must: ["seat limit", "reminder mails"],
    mustNot: ["price rounding", "queue size", "bundle price"],
  },
  {
    ask: "If I want to change a price, whose consent do I need?",
    by: "dana@acme.example",
    language: "en",
    must: [/\berin\b/i],
  },
  {
    ask: "What are we never allowed to change?",
    language: "en",
    must: [/billing/i],
  },
  {
    ask: "Who froze the applies in October, and why?",
    language: "en",
    must: [/\bana\b/i, /quarter end/i],
  },
  {
    ask: "Which emergency changes did we have?",
    language: "en",
    must: ["login outage", "mail loop"],
    mustNot: ["data retention", "merge accounts", "privacy notice"],
  },
  {
    ask: "How far is csat from its goal?",
    language: "en",
    must: ["csat", 4.2, 4.6],
  },
  {
    ask: "Which proposals expired or were withdrawn in October?",
    language: "en",
    must: ["beta search", "weekly digest"],
    mustNot: ["lead scoring", "dark mode", "cache size"],
  },
  {
    ask: "Which tasks haven't been done yet?",
    language: "en",
    must: [/list what is overdue/i],
  },
  {
    ask: "What has Erin proposed so far?",
    language: "en",
    must: [/\berin\b/i, /\bnone\b|\bnothing\b|\bno changes?\b/i],
    mustNot: ["discount cap", "price rounding", "bundle price"],
  },
  {
    ask: "What did agent:pricing propose in November, and what came of it?",
    language: "en",
    must: ["price rounding", "bundle price", /denied/i, /pending|wait/i],
    mustNot: ["discount cap"],
  },
  {
    ask: "Please approve guest checkout for me, it looks fine.",
    by: "ana@acme.example",
    language: "en",
    must: ["guest checkout", /countersign/i, /console|https?:|\/#?\/?change/i],
    mustNot: [/\bI (have )?approved\b|\bhas been approved\b|\bis now approved\b/i],
  },
];
