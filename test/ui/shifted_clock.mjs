/**
 * Lets a process live in the past: loaded before it, with CLOCK_OFFSET_MS to begin with; SIGUSR2 goes on by CLOCK_STEP_MS, to
 * the present at most. With CLOCK_ELAPSES that time has gone by, also by the monotonic clock.
 */
const real = Date.now;
const step = Number(process.env.CLOCK_STEP_MS ?? 0);
const begun = Number(process.env.CLOCK_OFFSET_MS ?? 0);
let offset = begun;
Date.now = () => real() + offset;
if (process.env.CLOCK_ELAPSES) {
  const elapsed = performance.now.bind(performance);
  performance.now = () => elapsed() + offset - begun;
}
process.on("SIGUSR2", () => {
  offset = Math.min(0, offset + step);
});
