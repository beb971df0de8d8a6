/** The ranking of the search index: rare terms, recency, importance, coverage. */
import { expect, test } from "vitest";
import { type Document, createSearchIndex } from "../../../lib/memory/search_index.ts";

const DAY = 24 * 3600 * 1000;
const NOW = 1000 * DAY;

const makeDocument = (id: string, text: string, fields: Partial<Document> = {}): Document => ({
  id,
  text,
  at: NOW,
  importance: 0,
  ...fields,
});

function buildIndex(...documents: Document[]) {
  const index = createSearchIndex();
  for (const document of documents) index.add(document);
  return {
    index,
    /** Returns the ids of the results, best first. */
    ids: (query: string, options = {}) => index.search({ query, limit: 10, now: NOW, ...options }).map(({ id }) => id),
  };
}

test("a rarer term weighs more than a common one", () => {
  const { ids } = buildIndex(
    makeDocument("1", "price change of plan"),
    makeDocument("2", "banner change of plan"),
    makeDocument("3", "limit change of plan"),
  );
  expect(ids("change banner")[0]).toBe("2");
});

test("relevance ranks before recency, and recency orders equally relevant memories", () => {
  const { ids } = buildIndex(
    makeDocument("1", "banner banner on the start page", { at: NOW - 300 * DAY }),
    makeDocument("2", "banner in the footer of all pages", { at: NOW - 300 * DAY }),
    makeDocument("3", "banner in the footer of all pages", { at: NOW - 1 * DAY }),
    makeDocument("4", "nothing of the kind"),
  );
  expect(ids("banner start")).toEqual(["1", "3", "2"]);
});

test("importance orders equally relevant and recent memories", () => {
  const { ids } = buildIndex(
    makeDocument("1", "banner approved", { importance: 1 }),
    makeDocument("2", "banner approved", { importance: 0.2 }),
    makeDocument("3", "else"),
  );
  expect(ids("banner")).toEqual(["1", "2"]);
});

test("the requested number of best matches is returned, equal matches in descending order of ids", () => {
  const { ids } = buildIndex(...Array.from({ length: 20 }, (_, i) => makeDocument(String(100 + i), "same words")));
  expect(ids("same", { limit: 3 })).toEqual(["119", "118", "117"]);
});

test("a result contains the required share of the query's terms; ignored terms do not count", () => {
  const { ids } = buildIndex(
    makeDocument("1", "alpha beta gamma"),
    makeDocument("2", "alpha only"),
    makeDocument("3", "none"),
  );
  expect(ids("alpha beta gamma delta", { coverage: 0.5 })).toEqual(["1"]);
  expect(ids("alpha beta", { ignored: new Set(["beta", "alpha"]) })).toEqual([]);
  expect(ids("what alpha", { coverage: 1, ignored: new Set(["what"]) })).toHaveLength(2);
});

test("removed documents are not found, and the others are still found after compaction", () => {
  const documents = Array.from({ length: 4000 }, (_, i) =>
    makeDocument(String(10_000 + i), `word${i % 7} number${i}`, { at: NOW - i }),
  );
  const { index, ids } = buildIndex(...documents);
  // Document 10000 + i has the text "word<i % 7> number<i>".
  index.drop("13999");
  expect(ids("number3999")).toEqual([]);
  for (let id = 10_000; id < 13_000; id++) index.drop(String(id));
  expect(index.size).toBe(999);
  expect(ids("number2999")).toEqual([]);
  expect(ids("number3000")).toEqual(["13000"]);
  expect(ids("word3", { limit: 5000 })).toHaveLength(
    documents.slice(3000, 3999).filter((_, i) => (i + 3000) % 7 === 3).length,
  );
  index.add(makeDocument("20000", "word3 fresh"));
  expect(ids("fresh")).toEqual(["20000"]);
});

test("a query without words finds nothing, and an empty index has no results", () => {
  expect(buildIndex(makeDocument("1", "alpha")).ids("…")).toEqual([]);
  expect(buildIndex().ids("alpha")).toEqual([]);
});
