/** A rollout: its steps, its wait, and the measured bounds of each KPI. */
import { capitalize } from "../../../../lib/wording/part.ts";
import type { ChangeDetail } from "../../core/api_types.ts";
import { formatCount } from "../../core/format.ts";
import {
  type Band,
  describeAdvance,
  describeNextStep,
  isRollingOut,
  listBands,
  formatShare,
} from "../../domain/rollout.ts";
import { type Shape, formatTitle } from "../../domain/statuses.ts";
import { StatusBadge, Icon } from "../../parts/badge.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Age, Moment } from "../../parts/time.tsx";

export function Rollout({ change }: { change: ChangeDetail }) {
  const { stages, exposure, rollout } = change;
  const bands = listBands(change);
  const newest = rollout?.measured.at(-1);
  return (
    <Panel title="Rollout" class="rollout">
      {isRollingOut(change) ? (
        <>
          <p>
            <strong>{formatShare(exposure!.share)} of the users</strong> have the new value, since{" "}
            <Moment at={exposure!.since} />.
          </p>
          <p>Waits for {describeNextStep(change)}.</p>
        </>
      ) : (
        <p>{describeEnd(change)}</p>
      )}
      <ol class="rollout-steps">
        {stages!.steps.map((step, index) => (
          <Step key={index} of={step} state={findStepState(index, change)} needs={rollout?.estimate[index]} />
        ))}
        <li>
          <Icon shape={change.status === "applied" && exposure?.waits_for === null ? "check" : "ring"} />
          <span>
            <strong>Everybody</strong>
          </span>
        </li>
      </ol>
      {bands.length > 0 && (
        <>
          <h3>Measured at {formatShare(stages!.steps[newest!.step]!.share)}</h3>
          <ul class="plain bands">
            {bands.map((band) => (
              <BandItem key={band.kpi} band={band} />
            ))}
          </ul>
          <p class="quiet">
            Counted <Age at={newest!.as_of} />. From better on the left to worse on the right; the line is no
            difference, the dashed one what is allowed. The bounds are valid however often they are read.
          </p>
        </>
      )}
    </Panel>
  );
}

function describeEnd({ status, exposure, stages }: ChangeDetail): string {
  if (status === "applied") return exposure ? "Everybody has the new value." : "It is not rolled out any more.";
  if (status === "rolled_back") return "It was rolled back; everybody has the earlier value.";
  if (status === "denied") return "It was never started.";
  return `One consent covers ${formatCount(stages!.steps.length, "step")} and then everybody. It is rolled back by itself where a KPI is worse than allowed.`;
}

type StepState = "done" | "current" | "ahead";

const SHAPES: Readonly<Record<StepState, Shape>> = { done: "check", current: "half", ahead: "ring" };

function findStepState(index: number, change: ChangeDetail): StepState {
  const current = change.status === "applied" ? (change.exposure?.step ?? -1) : -1;
  if (index === current) return "current";
  return index < current ? "done" : "ahead";
}

const Step = (props: {
  of: NonNullable<ChangeDetail["stages"]>["steps"][number];
  state: StepState;
  needs: NonNullable<ChangeDetail["rollout"]>["estimate"][number] | undefined;
}) => (
  <li class={props.state} aria-current={props.state === "current" ? "step" : undefined}>
    <Icon shape={SHAPES[props.state]} />
    <span>
      <strong>{formatShare(props.of.share)}</strong>, goes on {describeAdvance(props.of)}.{" "}
      {props.state !== "done" && props.needs?.users != null && props.needs.users > 0 && (
        <span class="quiet">
          At most {formatCount(props.needs.users, "user")} with the value
          {props.needs.days !== null && `, about ${formatCount(props.needs.days, "day")}`}.
        </span>
      )}
    </span>
  </li>
);

const BandItem = ({ band }: { band: Band }) => (
  <li>
    <p>
      <strong>{formatTitle(band.kpi)}</strong> <StatusBadge of={band.badge} />
    </p>
    <BandPicture band={band} />
    <p>{capitalize([`${band.range}. ${band.levels}.`])}</p>
  </li>
);

/** Maximum range of the picture in each direction, in multiples of the allowed loss. */
const MAX_ALLOWANCES = 4;
const WIDTH = 400;

/** The band between both bounds on a line from better to worse, with a stroke at no difference and one at what is allowed. */
function BandPicture({ band: { at_least, at_most, allowed } }: { band: Band }) {
  const widest = Math.max(Math.abs(at_least ?? Infinity), Math.abs(at_most ?? Infinity), allowed) * 1.1;
  // A bound that is not known is infinite; `|| 1` prevents a division by zero.
  const limit = Math.min(widest, allowed > 0 ? allowed * MAX_ALLOWANCES : Number.MAX_VALUE) || 1;
  const toX = (value: number): number => Math.round(Math.max(0, Math.min(WIDTH, (WIDTH / 2) * (1 + value / limit))));
  const [from, to] = [at_least === null ? 0 : toX(at_least), at_most === null ? WIDTH : toX(at_most)];
  return (
    <svg class="band" viewBox={`0 0 ${WIDTH} 28`} preserveAspectRatio="none" aria-hidden="true">
      <rect class="beyond" x={toX(allowed)} y="4" width={WIDTH - toX(allowed)} height="20" />
      <rect class="between" x={from} y="8" width={Math.max(2, to - from)} height="12" />
      <path d={`M${toX(0)} 2v24`} />
      <path class="allowed" d={`M${toX(allowed)} 2v24`} />
    </svg>
  );
}
