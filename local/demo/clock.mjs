/** Loaded before the service: its clock begins in the past, by DEMO_CLOCK_MS, and is moved by messages. */
const real = Date.now;
let offset = Number(process.env.DEMO_CLOCK_MS);
Date.now = () => real() + offset;

process.on("message", ({ clock_ms }) => {
  offset = clock_ms;
  process.send({ clock_ms });
});
