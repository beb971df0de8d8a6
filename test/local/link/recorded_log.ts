import type { Log } from "../../../lib/kit/platform.ts";

export interface Line {
  level: "info" | "warn" | "error";
  message: string;
  fields: Record<string, unknown>;
}

/** A log whose lines can be waited for. */
export interface RecordedLog extends Log {
  lines: Line[];
  /** Returns the first line with a message from line `from` on, logged already or in the future. */
  logged(message: string, from?: number): Promise<Line>;
}

export function recordedLog(): RecordedLog {
  const lines: Line[] = [];
  const waiting = new Set<() => void>();
  const add =
    (level: Line["level"]) =>
    (message: string, fields: Record<string, unknown> = {}) => {
      lines.push({ level, message, fields });
      for (const look of waiting) look();
    };
  return {
    lines,
    info: add("info"),
    warn: add("warn"),
    error: add("error"),
    logged: (message, from = 0) =>
      new Promise((resolve) => {
        const look = () => {
          const found = lines.slice(from).find((line) => line.message === message);
          if (!found) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
  };
}
