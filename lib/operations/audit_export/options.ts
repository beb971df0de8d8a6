/** Options of the export: the address of the receiver, and the headers with credentials. */

/** Returns the address of logs: `/v1/logs` is appended if it is missing, as OpenTelemetry does. */
export const logsAddress = (url: string): string =>
  url.endsWith("/v1/logs") ? url : `${url.replace(/\/+$/, "")}/v1/logs`;

/** Reads `name=value,…`, where a value may be percent-encoded. Errors: an `Error` with the rule; it contains no value. */
export function readExportHeaders(text: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const part of text.split(",").filter((pair) => pair.trim() !== "")) {
    const [, name, value] = /^\s*([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*=\s*(.*?)\s*$/.exec(part) ?? [];
    if (name === undefined || value === undefined)
      throw new Error("must be name=value pairs separated by commas; write a comma in a value as %2C");
    headers[name.toLowerCase()] = decodeValue(value);
  }
  return headers;
}

function decodeValue(text: string): string {
  let value: string;
  try {
    value = decodeURIComponent(text);
  } catch {
    // A value that is not percent-encoded may contain a `%`.
    value = text;
  }
  if (/^[\x20-\x7e]+$/.test(value)) return value;
  throw new Error("must have values of visible ASCII, to fit a header");
}
