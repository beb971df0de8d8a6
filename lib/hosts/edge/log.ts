/** The log of a Worker: one JSON object a line on the console, which Workers Logs parses into fields. */
import type { Log } from "../../kit/platform.ts";

type Level = "info" | "warn" | "error";

const writeAt =
  (level: Level): Log[Level] =>
  (message, fields = {}) => {
    const plainFields = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, toPlainValue(value)]));
    // oxlint-disable-next-line no-console -- there is nowhere else to write to
    console[level](JSON.stringify({ level, message, ...plainFields }));
  };

/** Copies the fields of an error, which `JSON.stringify` would write as `{}`. */
const toPlainValue = (value: unknown): unknown =>
  value instanceof Error ? { name: value.name, message: value.message, stack: value.stack } : value;

export const consoleLog: Log = { info: writeAt("info"), warn: writeAt("warn"), error: writeAt("error") };
