/**
 * Loaded into the service: measures the longest pause of its event loop, in milliseconds. The message `watch` starts a measurement;
 * any other message ends it and is answered. The service's own metric samples only every ten milliseconds.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";

const delay = monitorEventLoopDelay({ resolution: 1 });

process.on("message", (command) => {
  if (command === "watch") return delay.enable();
  delay.disable();
  process.send({ longest: delay.max / 1e6 });
});
// The channel must not prevent the service from ending.
process.channel.unref();
