/** JSON of the link, from bytes that an unauthenticated peer may have made. */
import { ProtocolViolation } from "./frames.ts";

/** Deeper than any answer of the service, and shallow enough for every function that recurses over one. */
const DEEPEST = 50;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** A value as UTF-8 JSON. */
export const toBytes = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

/** The object in UTF-8 JSON; a `Violation` when it is none, or nested deeper than 50 levels. */
export function toObject(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch {
    throw new ProtocolViolation("a payload is not JSON in UTF-8");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ProtocolViolation("a payload is not a JSON object");
  if (isDeeper(value, DEEPEST)) throw new ProtocolViolation(`a payload is nested deeper than ${DEEPEST} levels`);
  return value as Record<string, unknown>;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}
