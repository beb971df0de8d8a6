/** A value that was changed outside Countersign: both values, and the allowed actions. */
import { Button } from "../../parts/button.tsx";
import type { ChangeDetail } from "../../core/api_types.ts";
import { href } from "../../core/router.tsx";
import { Panel } from "../../parts/panel.tsx";
import { UserText } from "../../parts/text.tsx";
import { Age, Moment } from "../../parts/time.tsx";
import { CurrentValue } from "./host_preview.tsx";
import { FollowUpLinks } from "./decision_bar.tsx";

export function Drifted({ change, onRestore }: { change: ChangeDetail; onRestore: () => void }) {
  const { drift, change_id } = change;
  const contested = drift!.contested_until;
  return (
    <Panel title="Changed outside Countersign" class="drifted">
      <p>
        The current value of <UserText text={drift!.target} code /> was never approved; noticed{" "}
        <Age at={drift!.since} />.
      </p>
      <CurrentValue change={change} />
      {contested !== undefined && (
        <p>
          It was restored three times within an hour, and changed each time: another program sets it. Stop that program,
          or roll the change back. It can be restored again from <Moment at={contested} />.
        </p>
      )}
      <div class="buttons">
        {change.caller?.may.includes("restore") && <Button onClick={onRestore} label="Restore the consented value…" />}
        <FollowUpLinks change={change} />
      </div>
      <p class="quiet">
        A restore needs no new consent. Where it is refused,{" "}
        <a href={href(["propose"], { supersedes: change_id })}>propose the consented value again</a>.
      </p>
    </Panel>
  );
}
