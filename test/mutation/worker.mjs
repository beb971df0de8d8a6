/** A test worker that runs one mutant after another without loading modules again: loading took most of the time. */
import { parentPort } from "node:worker_threads";
import { init, runBaseTests, setupEnvironment } from "vitest/worker";

/** The worker's own listener, and that of the connection of the present run, which replaces the one of the run before. */
const listeners = [];
parentPort.on("message", (message) => listeners.slice().forEach((listener) => listener(message)));

init({
  post: (response) => parentPort.postMessage(response),
  on: (listener) => void (listeners[Math.min(listeners.length, 1)] = listener),
  off: () => undefined,
  runTests: (state, traces) => runBaseTests("run", state, traces),
  collectTests: (state, traces) => runBaseTests("collect", state, traces),
  setup: setupEnvironment,
});
