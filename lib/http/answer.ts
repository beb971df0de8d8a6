/** Answers of handlers, and their conversion to responses. */
import { Json } from "../store/json.ts";

/** A handler's answer before it becomes a Response: text, so that it can be stored and replayed exactly. */
export interface Answer {
  readonly kind: "answer";
  status: number;
  text: string;
  headers: Record<string, string>;
  /** The text in UTF-8, if it is encoded already. */
  bytes?: Uint8Array<ArrayBuffer>;
}

/** A JSON answer; members of `body` that are text already are spliced in. */
export const answer = (body: object, status = 200, headers: Record<string, string> = {}): Answer =>
  textAnswer(splice(body), status, headers);

/** An answer of this JSON text. */
export const textAnswer = (text: string, status = 200, headers: Record<string, string> = {}): Answer => ({
  kind: "answer",
  status,
  text,
  headers,
});

/** The JSON text of an object, whose `Json` members are text already. With `base`, the members of that object come first. */
export function splice(object: object, base?: Json<object>): string {
  const ownMembers = Object.entries(object);
  if (!base && !ownMembers.some(([, member]) => member instanceof Json)) return JSON.stringify(object);
  const members = base && base.text !== "{}" ? [base.text.slice(1, -1)] : [];
  for (const [name, member] of ownMembers) {
    const text = member instanceof Json ? member.text : JSON.stringify(member);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  // Joined, since text that is concatenated with + would be flattened again for each response.
  return `{${members.join(",")}}`;
}

/** Length in characters from which bytes encoded once are cheaper than text encoded by each response. */
const MIN_SHARED_CHARACTERS = 16 * 1024;

/** Prepares an answer for several callers: the bytes of a long one are encoded once. */
export const shareAnswer = (shared: Answer): Answer =>
  shared.text.length < MIN_SHARED_CHARACTERS ? shared : { ...shared, bytes: new TextEncoder().encode(shared.text) };

/** An answer as a response, under the id of its request; `ResponseType` is a faster class of the host. */
export const toResponse = (
  { text, bytes, status, headers }: Answer,
  requestId: string,
  ResponseType: typeof Response = Response,
): Response => {
  const allHeaders: Record<string, string> = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-request-id": requestId,
  };
  for (const [name, value] of Object.entries(headers)) allHeaders[name] = value;
  if (status !== 304) return new ResponseType(bytes ?? text, { status, headers: allHeaders });
  delete allHeaders["content-type"];
  return new ResponseType(null, { status, headers: allHeaders });
};

/** A response of another type than JSON, without caching or content sniffing. */
export const plainResponse = (text: string, headers: Record<string, string> = {}, status = 200): Response =>
  new Response(text, {
    status,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...headers,
    },
  });

/** A download whose body is produced while it is read; the answer to a HEAD has no body. */
export const download = (
  { method }: Pick<Request, "method">,
  body: () => ReadableStream<Uint8Array>,
  { type, name }: { type: string; name: string },
): Response =>
  new Response(method === "HEAD" ? null : body(), {
    headers: {
      "content-type": `${type}; charset=utf-8`,
      "content-disposition": `attachment; filename="${name}"`,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });

/** The ETag of a record at a revision. */
export const etag = (revision: number): string => `"${revision}"`;

export function isAnswer(value: unknown): value is Answer {
  return typeof value === "object" && value !== null && (value as Answer).kind === "answer";
}
