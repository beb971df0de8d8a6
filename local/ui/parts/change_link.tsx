/** Links to changes by their titles, for rows that have only ids. */
import { changeHref } from "../core/router.tsx";
import { useFind } from "../core/shared.ts";
import { ShortId, UserText } from "./text.tsx";

const MAX_TITLES = 200;

/** Reads the titles of the changes that a query finds, by id. */
export function useChangeTitles(query: string): ReadonlyMap<string, string> {
  const { data } = useFind(query, { limit: MAX_TITLES });
  return new Map(data?.rows.map((row) => [row.change_id, row.summary || row.target]));
}

/** A link to a change by its title, or by its id where the title is not known. */
export const ChangeLink = ({ id, titles }: { id: string; titles: ReadonlyMap<string, string> }) => (
  <a data-row href={changeHref(id)} title={id}>
    {titles.has(id) ? <UserText text={titles.get(id)!} /> : <ShortId of={id} />}
  </a>
);
