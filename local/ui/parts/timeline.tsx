/** The history of a change or a mandate, a step for each audit entry. Entries of a mandate have no change id. */
import type { AuditEntry } from "../core/api_types.ts";
import { href } from "../core/router.tsx";
import { makeSteps } from "../domain/timeline.ts";
import { Icon } from "./badge.tsx";
import { Panel } from "./panel.tsx";
import { Prose, Sentence, SentenceLine } from "./text.tsx";
import { Moment } from "./time.tsx";

export const Timeline = ({ entries }: { entries: readonly AuditEntry[] }) => (
  <Panel title="History">
    <ol class="timeline">
      {makeSteps(entries).map(({ id, at, sentence, proof, note, shape, tone, change_id }) => (
        <li key={id} class={tone}>
          <Icon shape={shape} />
          <div>
            <p>
              <Sentence parts={sentence} />.
            </p>
            {proof.length > 0 && <SentenceLine class="quiet" parts={proof} />}
            {note !== "" && (
              <blockquote>
                <Prose text={note} />
              </blockquote>
            )}
            <small class="quiet">
              <Moment at={at} />,{" "}
              <a href={href(["audit"], change_id === "" ? { before: String(id + 1) } : { change_id })}>entry {id}</a>
            </small>
          </div>
        </li>
      ))}
    </ol>
  </Panel>
);
