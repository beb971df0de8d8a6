/** What an answer is made from, and what answers have in common. */
import type { Citation } from "../../memory/history.ts";
import type { PulseDeps } from "../../pulse/deps.ts";
import { answerFrom, type ChangeAnswer, type ChangeQuery } from "../../pulse/query/change_query.ts";
import type { ChangeFilter } from "../../pulse/query/filter.ts";
import type { Look } from "../../pulse/query/look.ts";
import type { Names } from "../question/names.ts";
import type { Plan } from "../question/plan.ts";
import type { Question } from "../question/read.ts";
import type { Say } from "../say/say.ts";
import { howToList } from "./how_to_list.ts";

/** An answer and the records it is from. */
export interface Answer {
  text: string;
  citations: Citation[];
  /** The records were asked, and have none. */
  isNone?: boolean;
}

/** A question about a product, as an answer needs it. */
export interface Asking {
  deps: PulseDeps;
  question: Question;
  plan: Plan;
  /** The changes that were looked at, and the names on them. */
  seen: Look;
  names: Names;
  say: Say;
  /** Who asks, by the name on record; `null`: nobody is named. */
  asker: string | null;
  /** Where a person decides on a change. */
  page(changeId: string): string;
}

/** What asks for the first or last of all. */
const ONE = /\b(?:newest|latest|oldest|earliest|most recent|longest)\b|最新|最早|最久|最后/i;

/** So many changes are told one by one. */
export const TOLD = 10;

/** Citations of one kind. */
export const cite = (kind: string, ids: readonly (string | number)[]): Citation[] =>
  ids.map((id) => ({ kind, id: String(id) }));

/** Lines, without the empty ones. */
export const lines = (...parts: readonly (string | readonly string[])[]): string =>
  parts
    .flat()
    .filter((part) => part !== "")
    .join("\n");

/** Answers a query from what was looked at. */
export const find = ({ deps, seen }: Asking, query: ChangeQuery): Promise<ChangeAnswer> =>
  answerFrom(deps, seen, query);

/** The query in words, how many there are, the first of them in a line each, and how all are shown. */
export async function listed(asking: Asking, filter: ChangeFilter, heading?: string): Promise<Answer> {
  const { say, question } = asking;
  const order = question.has("oldest") ? "oldest" : "newest";
  // "The newest change" is one.
  const isOne = ONE.test(question.text) && !/\b(?:changes|proposals|ones)\b|哪些|几个/i.test(question.text);
  const found = await find(asking, { ...filter, limit: isOne ? 1 : TOLD, order });
  const ids = found.rows.map(({ change }) => change.change_id);
  return {
    text: lines(
      heading ?? (isOne ? say.oneOf(order, say.query(filter), found.total) : say.title(say.query(filter), found.total)),
      found.rows.map(say.row),
      found.total > ids.length && !isOne ? say.more(found.total - ids.length, howToList(filter) ?? say.narrower) : "",
      howFar(asking),
    ),
    citations: cite("change", ids),
    isNone: found.total === 0,
  };
}

/** Said where not every change was looked at. */
export const howFar = ({ seen, say }: Asking): string => (seen.complete ? "" : say.looked(seen.looked));
