/**
 * Answers a text from the records. A query is run, the title of a saved question runs its query, and any other text is a search
 * for its words. The answer shows the query, to which "nothing found" refers.
 */
import type { ChangesDeps } from "../changes/deps.ts";
import { AppError } from "../kit/errors.ts";
import type { FindAnswer, FindRow } from "./answer.ts";
import { FIELD_ALIASES, FIELD_NAMES } from "./fields.ts";
import { FILLER_WORDS } from "./filler_words.ts";
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

/** A text that is one term, whatever its field: a misspelt field is reported, and not searched for as a word. */
const ONE_TERM = /^\s*-?[a-z][a-z_-]*[:：][^\s/]\S*\s*$/i;
const ONE_ID = /^\s*-?chg_[0-9a-f-]+\s*$/i;

/** Returns true for a text that names a field, or that is one term or one id and nothing else. */
function isQuery(text: string): boolean {
  const names = [...text.matchAll(/(?:^|\s)-?([a-z][a-z_-]*)[:：]/gi)].map(([, name]) => name!.toLowerCase());
  const isField = (name: string) => FIELD_NAMES.includes(name) || Object.hasOwn(FIELD_ALIASES, name);
  return names.some(isField) || ONE_TERM.test(text) || ONE_ID.test(text);
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
      ? `Query: ${query.text} – no text of a change has any of these words.`
      : `Query: ${query.text} – the text is neither a query nor a saved question; ${total === 1 ? "1 change has" : `${total} changes have`} some of its words, best first:`;
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

/** Reduces a text to free words, without signs and quotation marks, and without filler words if it has others. */
function plainWords(text: string): string {
  const all = text.match(/chg_[0-9a-f-]{36}|[\p{L}\p{M}\p{N}]+(?:[._@-][\p{L}\p{M}\p{N}]+)*/gu) ?? [];
  const words = all.filter((word) => !FILLER_WORDS.has(word.toLowerCase()));
  return (words.length > 0 ? words : all).slice(0, MAX_WORDS).join(" ").slice(0, MAX_TEXT);
}
