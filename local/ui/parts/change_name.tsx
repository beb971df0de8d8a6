/** Links to changes by title and proposer instead of ids. */
import type { RelatedChange } from "../core/api_types.ts";
import { localizeTimes } from "../core/format.ts";
import { changeHref } from "../core/router.tsx";
import { useDrift, useFind } from "../core/shared.ts";
import { splitMessage } from "../domain/messages.ts";
import { statusBadge } from "../domain/statuses.ts";
import { StatusBadge } from "./badge.tsx";
import { UserText, UserLink, ShortId } from "./text.tsx";

type NamedChange = Pick<RelatedChange, "change_id" | "summary" | "proposer" | "status" | "resolution">;

/** A link to a change by its title, and who proposed it. */
export const ChangeName = ({ of }: { of: Pick<RelatedChange, "change_id" | "summary" | "proposer"> }) => (
  <>
    <UserLink href={changeHref(of.change_id)} text={of.summary} />
    {of.proposer !== null && (
      <>
        {" "}
        by <UserText text={of.proposer} />
      </>
    )}
  </>
);

/** The status of a change, with its drift. */
export function ChangeBadge({ of }: { of: NamedChange }) {
  const drifted = useDrift(of.status === "applied");
  return <StatusBadge of={statusBadge({ ...of, drift: drifted.get(of.change_id) })} />;
}

export const ChangeNames = ({ of }: { of: readonly NamedChange[] }) => (
  <ul class="plain">
    {of.map((change) => (
      <li key={change.change_id}>
        <ChangeName of={change} /> <ChangeBadge of={change} />
      </li>
    ))}
  </ul>
);

/** A message of the service whose change ids are links. */
export const LinkedMessage = ({ text, related }: { text: string; related: readonly RelatedChange[] }) => (
  <>
    {splitMessage(localizeTimes(text)).map(({ text: part, id }, index) => {
      if (id === undefined) return <UserText key={index} text={part} />;
      const change = related.find(({ change_id }) => change_id === id);
      return change ? (
        <ChangeName key={index} of={change} />
      ) : (
        <a key={index} href={changeHref(id)}>
          {part}
        </a>
      );
    })}
  </>
);

const MAX_TITLES = 200;

/** Reads the titles of the first changes that a query finds, by id; an empty query finds the newest ones. */
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
