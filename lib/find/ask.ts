/**
 * Answers a text from the records. A query is run, the title of a saved question runs its query, and any other text is a search
 * for its words. The answer shows the query that was run.
 */
import type { ChangesDeps } from "../changes/deps.ts";
import { AppError } from "../kit/errors.ts";
import type { FindAnswer, FindRow } from "./answer.ts";
import { FIELD_ALIASES, FIELD_NAMES } from "./fields.ts";
import { FILLER_WORDS } from "./filler_words.ts";
import { type Answer, cite, describeFound, joinLines, describeRow, MAX_SHOWN_ROWS } from "./found_text.ts";
import { parseQuery, type Query } from "./parse.ts";
import { runQuery, type RunOptions } from "./run.ts";
import { findSimilarQuestions, findSavedQuestion } from "./saved_questions.ts";

/** Maximum number of matches listed for a text that is no query. */
const MAX_MATCHES = 5;
/** Limits of the words that are extracted from a text; below those of a query. */
const MAX_WORDS = 30;
const MAX_TEXT_LENGTH = 900;

/** Answers a text: as a query, as the title of a saved question, or by a search for its words. */
export async function askRecords(deps: ChangesDeps, text: string, caller: string | null): Promise<Answer> {
  return (await askQuery(deps, text, caller)) ?? (await searchRecords(deps, text, { caller })).answer;
}

/** Answers a text that is a query or the title of a saved question; undefined for any other text. */
export async function askQuery(deps: ChangesDeps, text: string, caller: string | null): Promise<Answer | undefined> {
  const query = isQuery(text) ? text : findSavedQuestion(text)?.query;
  if (query === undefined) return undefined;
  try {
    return describeFound(await runQuery(deps, parse(deps, query), { ...OPTIONS, caller }));
  } catch (error) {
    if (error instanceof AppError && error.code === "invalid_field")
      return { text: `This query does not run: ${error.message}.`, citations: [], isComplete: true };
    throw error;
  }
}

/** A text that consists of one term, even of an unknown field: a misspelt field is reported, not searched for as a word. No URL. */
const ONE_TERM = /^\s*-?[a-z][a-z_-]*[:：][^\s/]\S*\s*$/i;
const ONE_ID = /^\s*-?chg_[0-9a-f-]+\s*$/i;

/** Returns true for a text that names a field, or consists of one term or one id. */
function isQuery(text: string): boolean {
  const names = [...text.matchAll(/(?:^|\s)-?([a-z][a-z_-]*)[:：]/gi)].map(([, name]) => name!.toLowerCase());
  const isField = (name: string) => FIELD_NAMES.includes(name) || Object.hasOwn(FIELD_ALIASES, name);
  return names.some(isField) || ONE_TERM.test(text) || ONE_ID.test(text);
}

/**
 * Searches for changes with all words of a text, or else with any of them, and for similar saved questions. `words`: `any` if
 * one word is enough from the start.
 */
export async function searchRecords(
  deps: ChangesDeps,
  text: string,
  { caller, words = "all" }: Pick<RunOptions, "caller" | "words">,
): Promise<{ answer: Answer; rows: FindRow[] }> {
  const questions = findSimilarQuestions(text).map(({ title, query }) => `- ${title.en}: ${query}`);
  const suggestions = questions.length === 0 ? [] : ["Saved questions that fit:", ...questions];
  const found = words === "all" && (await findAllWords(deps, text, { caller }));
  if (found && found.total > 0) {
    const answer = describeFound(found);
    return { answer: { ...answer, text: joinLines(answer.text, suggestions), isComplete: false }, rows: found.rows };
  }
  const query = parseWords(deps, extractWords(text));
  if (!query)
    return { answer: { text: joinLines("Nothing in this can be looked up.", suggestions), citations: [] }, rows: [] };
  const { total, rows } = await runQuery(deps, query, { ...OPTIONS, caller, words: "any" });
  const best = rows.slice(0, MAX_MATCHES);
  const matches = total === 1 ? "1 change has" : `${total} changes have`;
  const result =
    total === 0
      ? "no text of a change has any of these words."
      : `${words === "all" ? "no change matches all of it; " : ""}${matches} some of its words, most words first:`;
  return {
    answer: {
      text: joinLines(`Query: ${query.text} – ${result}`, best.map(describeRow), suggestions),
      citations: cite(
        "change",
        best.map(({ change_id }) => change_id),
      ),
    },
    rows: best,
  };
}

/** Finds changes that meet a condition, with all words of a text; without words, all that meet it. */
export const findChangesWhere = async (
  deps: ChangesDeps,
  text: string,
  options: Required<WordOptions>,
): Promise<FindAnswer> =>
  (await findAllWords(deps, text, options)) ?? runQuery(deps, parse(deps, ""), { ...OPTIONS, ...options });

type WordOptions = Pick<RunOptions, "caller" | "where">;

/** Runs a text as it is, or if nothing matches, its words without filler words; undefined for a text without words. */
async function findAllWords(deps: ChangesDeps, text: string, options: WordOptions): Promise<FindAnswer | undefined> {
  let found: FindAnswer | undefined;
  for (const candidate of [text, extractWords(text)]) {
    const query = parseWords(deps, candidate);
    if (query) found = await runQuery(deps, query, { ...OPTIONS, ...options });
    if (found && found.total > 0) break;
  }
  return found;
}

/** Options of the queries that answer a text. */
const OPTIONS = { limit: MAX_SHOWN_ROWS, zone: "UTC" } as const;

const parse = ({ clock }: ChangesDeps, text: string): Query => parseQuery(text, { now: clock.now(), zone: "UTC" });

/** Parses the words of a text; undefined if it has none, or is no query. */
function parseWords(deps: ChangesDeps, text: string): Query | undefined {
  try {
    const query = parse(deps, text);
    return query.words.length + query.ids.length === 0 ? undefined : query;
  } catch (error) {
    if (error instanceof AppError && error.code === "invalid_field") return undefined;
    throw error;
  }
}

/** A phrase in quotes, an id or a word; with the minus before it and the `*` after it. */
const WORD =
  /(?:(?<!\S)-)?(?:"[^"]+"|chg_[0-9a-f-]{36}|[\p{L}\p{M}\p{N}]+(?:[._@-][\p{L}\p{M}\p{N}]+)*(?:\*(?!\S))?)/gu;

/** Extracts the words of a text, without punctuation, and without filler words if it has others. */
function extractWords(text: string): string {
  const all = text.replaceAll(/[“”„«»]/g, '"').match(WORD) ?? [];
  const words = all.filter((word) => !FILLER_WORDS.has(word.toLowerCase()));
  return (words.length > 0 ? words : all).slice(0, MAX_WORDS).join(" ").slice(0, MAX_TEXT_LENGTH);
}
