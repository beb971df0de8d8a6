/** The log of a Worker: one JSON object a line on the console, which Workers Logs takes apart into fields. */
import type { Log } from "../../kit/platform.ts";

type Level = "info" | "warn" | "error";

const line =
  (level: Level): Log[Level] =>
  (message, fields = {}) => {
    const shown = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plain(value)]));
    // oxlint-disable-next-line no-console -- there is nowhere else to write to
    console[level](JSON.stringify({ level, message, ...shown }));
  };

const plain = (value: unknown): unknown =>
  value instanceof Error ? { name: value.name, message: value.message, stack: value.stack } : value;

/** Writes to the console of the Worker. */
export const consoleLog: Log = { info: line("info"), warn: line("warn"), error: line("error") };
