/**
 * Loaded into the service: reports the longest pause of its event loop. The service's own metric samples only every ten
 * milliseconds.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";

const delay = monitorEventLoopDelay({ resolution: 1 });

process.on("message", (command) => {
  if (command === "watch") return delay.enable();
  delay.disable();
  process.send({ longest: delay.max / 1e6 });
});
process.channel.unref();
