/** The log of the local program: one JSON object a line on standard error, so that standard output stays free. */
import { LogFormatter, Logger, LogItem } from "@aws-lambda-powertools/logger";
import type { LogAttributes, UnformattedAttributes } from "@aws-lambda-powertools/logger/types";
import type { Log } from "../lib/kit/platform.ts";

/** Takes one line, without its line end. */
export type WriteLine = (line: string) => void;

const toStandardError: WriteLine = (line) => process.stderr.write(`${line}\n`);

/** Times are UTC whatever `TZ` says, and none of the fields that only a Lambda function has. */
class LineFormatter extends LogFormatter {
  override formatAttributes(attributes: UnformattedAttributes, fields: LogAttributes): LogItem {
    const { timestamp, logLevel, serviceName, message } = attributes;
    const head = { timestamp: timestamp.toISOString(), level: logLevel, service: serviceName, message };
    return new LogItem({ attributes: head }).addAttributes(fields);
  }
}

/**
 * The Powertools logger writes some levels to standard output, indents under `POWERTOOLS_DEV`, and drops or adds lines
 * under `AWS_LAMBDA_LOG_LEVEL` and others; here every line goes to one place, whatever the environment.
 */
class LineLogger extends Logger {
  readonly #write: WriteLine;

  constructor(service: string, write: WriteLine) {
    super({ serviceName: service, logFormatter: new LineFormatter(), sampleRateValue: 0 });
    this.#write = write;
  }

  protected override processLogItem(...item: Parameters<Logger["createAndPopulateLogItem"]>): void {
    const log = this.createAndPopulateLogItem(...item);
    log.prepareForPrint();
    this.#write(JSON.stringify(log.getAttributes(), this.getJsonReplacer()));
  }
}

/** A `Log` for this process. Bigints become text, errors become objects, a cycle is left out. */
export function openLog(service = "countersign", write: WriteLine = toStandardError): Log {
  const logger = new LineLogger(service, write);
  return {
    info: (message, fields = {}) => logger.info(message, fields),
    warn: (message, fields = {}) => logger.warn(message, fields),
    error: (message, fields = {}) => logger.error(message, fields),
  };
}
