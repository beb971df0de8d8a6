/** The steps of a change so far. */
import type { ChangeDetail } from "../../core/api_types.ts";
import { href } from "../../core/router.tsx";
import { stepsOf } from "../../domain/timeline.ts";
import { Sign } from "../../parts/mark.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Prose, Sentence } from "../../parts/text.tsx";
import { Moment } from "../../parts/time.tsx";

/** Lists who did what, and their reasons. */
export const Timeline = ({ change }: { change: ChangeDetail }) => (
  <Panel title="History">
    <ol class="timeline">
      {stepsOf(change.audit_entries).map(({ id, at, what, proven, note, shape, tone }) => (
        <li key={id} class={tone}>
          <Sign shape={shape} />
          <div>
            <p>
              <Sentence parts={what} />.
            </p>
            {proven.length > 0 && (
              <p class="quiet">
                <Sentence parts={proven} />
              </p>
            )}
            {note !== "" && (
              <blockquote>
                <Prose text={note} />
              </blockquote>
            )}
            <small class="quiet">
              <Moment at={at} />, <a href={href(["audit"], { change_id: change.change_id })}>entry {id}</a>
            </small>
          </div>
        </li>
      ))}
    </ol>
  </Panel>
);
