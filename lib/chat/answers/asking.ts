/** What an answer is made from, and what answers have in common. */
import type { Citation } from "../../memory/history.ts";
import type { PulseDeps } from "../../pulse/deps.ts";
import { answerFrom, type ChangeAnswer, type ChangeQuery } from "../../pulse/query/change_query.ts";
import type { Look } from "../../pulse/query/look.ts";
import type { Names } from "../question/names.ts";
import type { Plan } from "../question/plan.ts";
import type { Question } from "../question/read.ts";
import type { Say } from "../say/say.ts";

/** An answer and the records it is from. */
export interface Answer {
  text: string;
  citations: Citation[];
  /** The records were asked, and have none. */
  isNone?: boolean;
  /** It answers the question though it is from no record that could be cited: there is none. */
  isWhole?: boolean;
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

/** Said where not every change was looked at. */
export const howFar = ({ seen, say }: Asking): string => (seen.complete ? "" : say.looked(seen.looked));
