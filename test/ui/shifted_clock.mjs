/** Lets a process live in the past: loaded before it, with CLOCK_OFFSET_MS to begin with; SIGUSR2 goes on by CLOCK_STEP_MS, to the present at most. */
const real = Date.now;
const step = Number(process.env.CLOCK_STEP_MS ?? 0);
let offset = Number(process.env.CLOCK_OFFSET_MS ?? 0);
Date.now = () => real() + offset;
process.on("SIGUSR2", () => {
  offset = Math.min(0, offset + step);
});
