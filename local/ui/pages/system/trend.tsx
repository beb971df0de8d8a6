import type { Trend } from "../../core/api_types.ts";
import { counted, figure } from "../../core/format.ts";

const LEVELS = ["L1", "L2", "L3", "L4", "L5"] as const;
const HEIGHT = 60;
const STEP = 10;

/** Decisions a day, stacked by how much was left to machines; L5 must be none. */
export function TrendChart({ trend: { points, totals, levels } }: { trend: Trend }) {
  const sums = points.map((point) => LEVELS.reduce((sum, level) => sum + point[level], 0));
  const most = Math.max(1, ...sums);
  const decided = sums.reduce((sum, count) => sum + count, 0);
  return (
    <>
      <p>
        {counted(decided, "decision")} in {counted(points.length, "day")}
        {totals.L5 > 0 ? (
          <strong class="error">; the host product changed {counted(totals.L5, "time")} with no consent</strong>
        ) : (
          "; nothing bypassed consent"
        )}
        {totals.unattributed > 0
          ? `; ${counted(totals.unattributed, "decision")} more by names that are merely claimed`
          : ""}
        .
      </p>
      <svg
        class="bars"
        viewBox={`0 0 ${points.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Decisions a day by level, at most ${most} a day`}
      >
        {points.map((point, day) => {
          let top = HEIGHT;
          return LEVELS.map((level) => {
            const height = (point[level] / most) * HEIGHT;
            top -= height;
            return height > 0 ? (
              <rect key={level} class={level} x={day * STEP + 1} y={top} width={STEP - 2} height={height} />
            ) : null;
          });
        })}
      </svg>
      <div class="axis quiet" aria-hidden="true">
        <span>{points[0]?.date}</span>
        <span>{points.at(-1)?.date}</span>
      </div>
      <ul class="plain levels">
        {levels.map(({ level, meaning }) => (
          <li key={level}>
            <span class={`swatch ${level}`} aria-hidden="true" />
            <strong>{level}</strong> <span class="total">{figure(totals[level])}</span>
            <span class="quiet">{meaning}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
