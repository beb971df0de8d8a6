/** Encodes and parses the JSON payloads of the link; the bytes may come from an unauthenticated peer. */
import { ProtocolViolation } from "./frames.ts";

/** More than any answer of the service needs, and safe for recursive functions. */
const MAX_DEPTH = 50;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Encodes a value as UTF-8 JSON. */
export const toBytes = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

/** Parses an object from UTF-8 JSON. Errors: `ProtocolViolation` if it is not one, or is nested deeper than 50 levels. */
export function toObject(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch {
    throw new ProtocolViolation("a payload is not JSON in UTF-8");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ProtocolViolation("a payload is not a JSON object");
  if (isDeeper(value, MAX_DEPTH)) throw new ProtocolViolation(`a payload is nested deeper than ${MAX_DEPTH} levels`);
  return value as Record<string, unknown>;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}
