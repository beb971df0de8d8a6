/**
 * Answers a text from the records. A query is run, the title of a saved question runs its query, and any other text is a search
 * for its words. The answer shows the query, to which "nothing found" refers.
 */
import type { ChangesDeps } from "../changes/deps.ts";
import { AppError } from "../kit/errors.ts";
import type { FindAnswer, FindRow } from "./answer.ts";
import { FIELD_NAMES } from "./fields.ts";
import { type Answer, cite, describeFound, joinLines, describeRow, MAX_SHOWN_ROWS } from "./found_text.ts";
import { parseQuery, type Query } from "./parse.ts";
import { runQuery } from "./run.ts";
import { findSimilarQuestions, findSavedQuestion } from "./saved.ts";

/** Maximum number of matches listed for a text that is no query. */
const MAX_MATCHES = 5;
const MAX_WORDS = 30;
const MAX_TEXT = 900;

/** Answers a text: as a query, as the title of a saved question, or by a search for its words. */
export async function askRecords(deps: ChangesDeps, text: string, caller: string | null): Promise<Answer> {
  return (await askQuery(deps, text, caller)) ?? (await searchRecords(deps, text, caller)).answer;
}

/** Answers a text that is a query or the title of a saved question; undefined for any other text. */
export async function askQuery(deps: ChangesDeps, text: string, caller: string | null): Promise<Answer | undefined> {
  const query = isQuery(text) ? text : findSavedQuestion(text)?.query;
  if (query === undefined) return undefined;
  try {
    return describeFound(await runText(deps, query, caller));
  } catch (error) {
    if (error instanceof AppError && error.code === "invalid_field")
      return { text: `This query does not run: ${error.message}.`, citations: [], isComplete: true };
    throw error;
  }
}

/** Returns true for a text that names a field, or that is an id and nothing else. */
function isQuery(text: string): boolean {
  const names = [...text.matchAll(/(?:^|\s)-?([a-z][a-z_-]*)[:：]/gi)].map(([, name]) => name!.toLowerCase());
  return names.some((name) => FIELD_NAMES.includes(name)) || /^\s*-?chg_[0-9a-f-]+\s*$/i.test(text);
}

/** Searches for changes that contain words of a text, best first, and for similar saved questions. */
export async function searchRecords(
  deps: ChangesDeps,
  text: string,
  caller: string | null,
): Promise<{ answer: Answer; rows: FindRow[] }> {
  const questions = findSimilarQuestions(text).map(({ title, query }) => `- ${title.en}: ${query}`);
  const suggested = questions.length === 0 ? [] : ["Saved questions that fit:", ...questions];
  const words = plainWords(text);
  const query = parse(deps, words);
  if (query.words.length === 0 && query.ids.length === 0)
    return { answer: { text: joinLines("Nothing in this can be looked up.", suggested), citations: [] }, rows: [] };
  const { total, rows } = await runText(deps, words, caller, "any");
  const best = rows.slice(0, MAX_MATCHES);
  const head =
    total === 0
      ? `Query: ${query.text} – no text of a change holds any of these words.`
      : `Query: ${query.text} – ${total === 1 ? "1 change holds" : `${total} changes hold`} some of these words; best first:`;
  return {
    answer: {
      text: joinLines(head, best.map(describeRow), suggested),
      citations: cite(
        "change",
        best.map(({ change_id }) => change_id),
      ),
    },
    rows: best,
  };
}

const parse = ({ clock }: ChangesDeps, text: string): Query => parseQuery(text, { now: clock.now(), zone: "UTC" });

const runText = (
  deps: ChangesDeps,
  text: string,
  caller: string | null,
  words: "all" | "any" = "all",
): Promise<FindAnswer> => runQuery(deps, parse(deps, text), { limit: MAX_SHOWN_ROWS, zone: "UTC", caller, words });

/** Reduces a text to free words, without terms, signs and quotation marks. */
const plainWords = (text: string): string =>
  (text.match(/chg_[0-9a-f-]{36}|[\p{L}\p{M}\p{N}]+(?:[._@-][\p{L}\p{M}\p{N}]+)*/gu) ?? [])
    .slice(0, MAX_WORDS)
    .join(" ")
    .slice(0, MAX_TEXT);
