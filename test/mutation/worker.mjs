/** A test worker that runs all mutants without loading modules again, which would take most of the time. */
import { parentPort } from "node:worker_threads";
import { init, runBaseTests, setupEnvironment } from "vitest/worker";

/** The worker's own listener, and the listener of the current run, which replaces that of the previous run. */
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
