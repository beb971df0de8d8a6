/** The log of a Lambda function: one JSON object a line, with the ids of the invocation. */
import type { Logger } from "@aws-lambda-powertools/logger";
import type { Log } from "../../kit/platform.ts";

/** A log whose lines have the id of the current invocation. */
export interface LambdaLog extends Log {
  /** Sets the current invocation. */
  begin(context: unknown): void;
  /** Resolves when every line is written: an instance may be halted once it has answered. */
  flush(): Promise<void>;
}

/**
 * Opens the log; its level is that of `POWERTOOLS_LOG_LEVEL`, or of the function's logging configuration. The logger is
 * started with the first line, since most requests write none and starting it takes a fifth of a cold start.
 */
export function lambdaLog(): LambdaLog {
  let context: Parameters<Logger["addContext"]>[0] | undefined;
  let logger: Promise<Logger> | undefined;
  let lastWrite: Promise<void> = Promise.resolve();

  const write = (level: "info" | "warn" | "error", message: string, fields: Record<string, unknown> = {}): void => {
    const invocation = context;
    logger ??= import("@aws-lambda-powertools/logger").then(({ Logger }) => new Logger({ serviceName: "countersign" }));
    lastWrite = Promise.all([logger, lastWrite]).then(([started]) => {
      if (invocation) started.addContext(invocation);
      started[level](message, fields);
    });
  };
  return {
    info: (message, fields) => write("info", message, fields),
    warn: (message, fields) => write("warn", message, fields),
    error: (message, fields) => write("error", message, fields),
    begin: (newContext) => void (context = newContext as typeof context),
    flush: () => lastWrite,
  };
}
