/** Changes in a list, with what is asked after below each. */
import type { ChangeFilter } from "../../pulse/query/filter.ts";
import { type Answer, type Asking, cite, find, howFar, lines, TOLD } from "./asking.ts";
import { beside } from "./beside.ts";
import { howToList } from "./how_to_list.ts";

/** What asks for the first or last of all. */
const ONE = /^(?:newest|latest|oldest|earliest|most recent|first|last)$|^(?:最新|最早|最后|第一个)/;

/** The query in words, how many there are, the first of them in a line each, and how all are shown. */
export async function listed(asking: Asking, filter: ChangeFilter, heading?: string): Promise<Answer> {
  const { say, question } = asking;
  const order = question.has("oldest") ? "oldest" : "newest";
  // "The newest change" is one.
  const isOne =
    asking.plan.most === undefined &&
    question.tokens.some((token) => token.type === "sense" && ONE.test(token.words)) &&
    !/\b(?:changes|proposals|ones)\b|哪些|几个/i.test(question.text);
  const found = await find(asking, { ...filter, limit: isOne ? 1 : Math.min(TOLD, asking.plan.most ?? TOLD), order });
  const ids = found.rows.map(({ change }) => change.change_id);
  const below = await beside(asking, found.rows);
  return {
    text: lines(
      heading ?? (isOne ? say.oneOf(order, say.query(filter), found.total) : say.title(say.query(filter), found.total)),
      found.rows.flatMap((row, index) => [say.row(row), ...below[index]!.lines]),
      found.total > ids.length && !isOne ? say.more(found.total - ids.length, howToList(filter) ?? say.narrower) : "",
      howFar(asking),
    ),
    citations: [
      ...cite("change", ids),
      ...cite(
        "audit",
        below.flatMap(({ entries }) => entries),
      ),
    ],
    isNone: found.total === 0,
  };
}
