/** Loaded into the process of the service: its clock is DEMO_CLOCK_MS milliseconds off; messages change that offset. */
const systemNow = Date.now;
let offset = Number(process.env.DEMO_CLOCK_MS);
Date.now = () => systemNow() + offset;

process.on("message", ({ clock_ms }) => {
  offset = clock_ms;
  process.send({ clock_ms });
});
