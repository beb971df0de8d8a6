/** Queries of people after the simulated month, with the expected first results, which follow from the month's script. */
import type { MemoryKind } from "../../../lib/projections/memory.ts";

/** A search, and the conditions that its first result must meet. */
export interface MemoryQuery {
  query: string;
  /** The possible kinds. */
  kinds: readonly MemoryKind[];
  /** The possible changes, by name; absent: any or none. */
  changes?: readonly string[];
  /** Text of the memory, if a change has several memories of the kind. */
  says?: RegExp;
}

/** Describes a search and its first result; absent changes and an absent text may be any. */
const find = (query: string, kinds: MemoryKind | MemoryKind[], changes?: string | string[], says?: RegExp) => ({
  query,
  kinds: [kinds].flat(),
  ...(changes !== undefined && { changes: [changes].flat() }),
  ...(says && { says }),
});

const BY_PRICING = ["discount cap", "price rounding", "bundle price"];
const EMERGENCIES = ["login outage", "mail loop"];

/** Forty queries in English. */
export const ENGLISH: readonly MemoryQuery[] = [
  find("short form rolled back", "rollback", "short form"),
  find("why was the short form reverted?", "rollback", "short form"),
  find("who approved the privacy notice", "decision", "privacy notice"),
  find("dark mode denied", "decision", "dark mode"),
  find("why was dark mode rejected", "decision", "dark mode"),
  find("accessibility review", "decision", "dark mode"),
  find("discounts above 15 percent", "proposal", "discount cap"),
  find("what did Dana propose for initech", "proposal", ["privacy notice", "beta search", "export format"]),
  find("disk full", "outcome", "queue size"),
  find("connection refused", "outcome", "seat limit"),
  find("rollback failed because the host was unreachable", "rollback", "fewer mails", /unreachable/),
  find("customers missed their renewals", "rollback", "fewer mails", /missed their renewals/),
  find("what expired", "decision", "beta search"),
  find("approved but never applied in time", "decision", "lead scoring", /lapsed/),
  find("weekly digest withdrawn", "decision", "weekly digest"),
  find("superseded by the new mail tool", "decision", "weekly digest"),
  find("consent to cache size revoked", "decision", "cache size", /revoked/),
  find("load test showed swapping", "decision", "cache size", /revoked/),
  find("rolled back by the guardrail", "rollback", "back-off"),
  find("queue size drift", "outcome", "queue size", /drift/),
  find("banner missing on the host", "outcome", "banner", /drift/),
  find("emergency consent at night", "decision", EMERGENCIES, /emergency/),
  find("review of the login emergency", "decision", "login outage", /review/),
  find("freeze at quarter end", "decision", undefined, /frozen/),
  find("which change missed its promise", "verdict", ["discount cap", "privacy notice", "fewer mails", "trial length"]),
  find("outcome of lead routing", "verdict", "lead routing"),
  find("did the privacy notice move csat", ["verdict", "proposal"], "privacy notice"),
  find("billing.invoice rejected", "proposal", undefined, /rejected/),
  find("rounding hides the tax", "decision", "price rounding"),
  find("duplicate accounts", ["proposal", "decision"], "merge accounts"),
  find("why do we want guest checkout", "proposal", "guest checkout"),
  find("data retention approved", "decision", "data retention"),
  find("has legal approved data retention?", "decision", "data retention"),
  find("Legal signed the text", "decision", "privacy notice"),
  find("phone numbers lost by the short form", "rollback", "short form"),
  find("what did agent:pricing suggest", "proposal", BY_PRICING),
  find("drafts of the model", "proposal", ["fewer mails", "reminder mails"]),
  find("report was too long", "feedback"),
  find("KPIs of 2026-11-02", "kpi"),
  find("4000 mails in an hour", ["proposal", "decision"], "mail loop"),
];
