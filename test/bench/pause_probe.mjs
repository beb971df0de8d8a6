/**
 * Loaded into the service: reports for how long its event loop was held up at most. The metric cannot: it looks
 * every ten milliseconds, and says ten of a loop that has nothing to do.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";

const delay = monitorEventLoopDelay({ resolution: 1 });

process.on("message", (wish) => {
  if (wish === "watch") return delay.enable();
  delay.disable();
  process.send({ longest: delay.max / 1e6 });
});
process.channel.unref();
