/** Writes the log of the local program to standard error, one JSON object a line. */
import { LogFormatter, Logger, LogItem } from "@aws-lambda-powertools/logger";
import type { LogAttributes, UnformattedAttributes } from "@aws-lambda-powertools/logger/types";
import type { Log } from "../lib/kit/platform.ts";

/** Takes one line, without its line end. */
export type WriteLine = (line: string) => void;

const toStandardError: WriteLine = (line) => process.stderr.write(`${line}\n`);

/** Formats times in UTC whatever `TZ` is, without the fields of a Lambda function. */
class LineFormatter extends LogFormatter {
  override formatAttributes(attributes: UnformattedAttributes, fields: LogAttributes): LogItem {
    const { timestamp, logLevel, serviceName, message } = attributes;
    const head = { timestamp: timestamp.toISOString(), level: logLevel, service: serviceName, message };
    return new LogItem({ attributes: head }).addAttributes(fields);
  }
}

/**
 * Writes every line to one place, whatever the environment. The Powertools logger itself writes some levels to standard output,
 * and depends on `POWERTOOLS_DEV`, `AWS_LAMBDA_LOG_LEVEL` and other variables.
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

/** Opens a `Log` for this process. Bigints are logged as text, errors as objects; circular references are omitted. */
export function openLog(service = "countersign", write: WriteLine = toStandardError): Log {
  const logger = new LineLogger(service, write);
  return {
    info: (message, fields = {}) => logger.info(message, fields),
    warn: (message, fields = {}) => logger.warn(message, fields),
    error: (message, fields = {}) => logger.error(message, fields),
  };
}
