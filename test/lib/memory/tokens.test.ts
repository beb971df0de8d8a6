/** Terms of texts and queries: word forms, spellings and scripts without spaces. */
import { expect, test } from "vitest";
import { queryTerms, textTerms } from "../../../lib/memory/tokens.ts";

const sharedTerms = (text: string, query: string): string[] =>
  queryTerms(query).filter((term) => textTerms(text).includes(term));

test.each([
  ["approve", "approved by ana"],
  ["rollbacks", "a rollback"],
  ["PRICES", "the price went up"],
  ["cafe", "Café menu"],
  // Full-width letters.
  ["ＫＰＩ", "kpi feed"],
  ["crm.followup", "on crm.followup of t1"],
  ["followup", "on crm.followup of t1"],
  ["acme", "ana@acme.example"],
  ["chg_0193", "chg_0193 applied"],
  ["価格", "新しい価格を適用"],
  ["データ", "データベースの変更"],
  ["回滚", "已回滚该变更"],
  ["价", "涨价"],
  ["변경", "요금변경"],
  ["roll it back? rollback", "rolled_back"],
  ["denies", "denied by bo"],
  ["planning", "the plan"],
])("the query %s finds %s", (query, text) => {
  expect(sharedTerms(text, query)).not.toEqual([]);
});

test.each([
  ["approve", "applied by ana"],
  ["cat", "category"],
])("the query %s does not find %s", (query, text) => {
  expect(sharedTerms(text, query)).toEqual([]);
});

test("a Chinese query is split into pairs of characters; a single character is searched alone", () => {
  expect(queryTerms("价格变更")).toEqual(["价格", "格变", "变更"]);
  expect(queryTerms("价")).toEqual(["价"]);
});

test("vowel signs and voicing marks are part of a term", () => {
  expect(queryTerms("हिंदी")).toEqual(["हिंदी"]);
  expect(queryTerms("ガ")).toEqual(["ガ"]);
});

test("a query contains each term once, and no punctuation", () => {
  expect(queryTerms("Zebra, zebra? … (zebra)")).toEqual(["zebra"]);
  expect(queryTerms("?!… — ")).toEqual([]);
});
