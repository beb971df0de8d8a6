/**
 * Shifts the clock of a process: load it with `--import`. The clock is off by CLOCK_OFFSET_MS at first; SIGUSR2 advances it by
 * CLOCK_STEP_MS, at most to the present. With CLOCK_ELAPSES the monotonic clock advances by the same steps.
 */
const systemNow = Date.now;
const step = Number(process.env.CLOCK_STEP_MS ?? 0);
const initialOffset = Number(process.env.CLOCK_OFFSET_MS ?? 0);
let offset = initialOffset;
Date.now = () => systemNow() + offset;
if (process.env.CLOCK_ELAPSES) {
  const systemElapsed = performance.now.bind(performance);
  performance.now = () => systemElapsed() + offset - initialOffset;
}
process.on("SIGUSR2", () => {
  offset = Math.min(0, offset + step);
});
