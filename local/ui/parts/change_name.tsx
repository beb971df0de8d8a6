/** Changes as people name them: by title and person, never by their ids. */
import type { Related } from "../core/api_types.ts";
import { readable } from "../core/format.ts";
import { changeHref } from "../core/router.tsx";
import { useDrift } from "../core/shared.ts";
import { splitMessage } from "../domain/named.ts";
import { statusMark } from "../domain/statuses.ts";
import { Mark } from "./mark.tsx";
import { Given } from "./text.tsx";

type NamedChange = Pick<Related, "change_id" | "summary" | "proposer" | "status" | "resolution">;

/** A link to a change by its title, and who proposed it. */
export const ChangeName = ({ of }: { of: Pick<Related, "change_id" | "summary" | "proposer"> }) => (
  <>
    <a href={changeHref(of.change_id)}>
      <Given text={of.summary} />
    </a>
    {of.proposer !== null && (
      <>
        {" "}
        by <Given text={of.proposer} />
      </>
    )}
  </>
);

/** Status of such a change, and a sign if the host product shows it no more. */
export function ChangeMark({ of }: { of: NamedChange }) {
  const drifted = useDrift(of.status === "applied");
  return <Mark of={statusMark({ ...of, drift: drifted.get(of.change_id) })} />;
}

/** A list of changes with where each stands. */
export const ChangeNames = ({ of }: { of: readonly NamedChange[] }) => (
  <ul class="plain">
    {of.map((one) => (
      <li key={one.change_id}>
        <ChangeName of={one} /> <ChangeMark of={one} />
      </li>
    ))}
  </ul>
);

/** A message of the service, with the changes in it as links. */
export const Named = ({ text, related }: { text: string; related: readonly Related[] }) => (
  <>
    {splitMessage(readable(text)).map(({ text: piece, id }, index) => {
      if (id === undefined) return <Given key={index} text={piece} />;
      const known = related.find(({ change_id }) => change_id === id);
      return known ? (
        <ChangeName key={index} of={known} />
      ) : (
        <a key={index} href={changeHref(id)}>
          {piece}
        </a>
      );
    })}
  </>
);
