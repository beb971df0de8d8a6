/** Records the lines of a log, so that a test can wait for them. */
import type { Log } from "../../../lib/kit/platform.ts";

export interface Line {
  level: "info" | "warn" | "error";
  message: string;
  fields: Record<string, unknown>;
}

/** A log whose lines can be waited for. */
export interface RecordedLog extends Log {
  lines: Line[];
  /** Returns the first line with a message from line `from` on, waiting for it if necessary. */
  waitForLine(message: string, from?: number): Promise<Line>;
}

export function recordedLog(): RecordedLog {
  const lines: Line[] = [];
  const checks = new Set<() => void>();
  const add =
    (level: Line["level"]) =>
    (message: string, fields: Record<string, unknown> = {}) => {
      lines.push({ level, message, fields });
      for (const check of checks) check();
    };
  return {
    lines,
    info: add("info"),
    warn: add("warn"),
    error: add("error"),
    waitForLine: (message, from = 0) =>
      new Promise((resolve) => {
        const resolveIfLogged = () => {
          const found = lines.slice(from).find((line) => line.message === message);
          if (!found) return;
          checks.delete(resolveIfLogged);
          resolve(found);
        };
        checks.add(resolveIfLogged);
        resolveIfLogged();
      }),
  };
}
