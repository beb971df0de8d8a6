/** A handler's answer before it becomes a Response: kept as text, so that it can be replayed to the letter. */
export interface Answer {
  readonly kind: "answer";
  status: number;
  text: string;
  headers: Record<string, string>;
}

/** A JSON answer. */
export function answer(body: unknown, status = 200, headers: Record<string, string> = {}): Answer {
  return { kind: "answer", status, text: JSON.stringify(body), headers };
}

/** The ETag of a record at a revision. */
export const etag = (revision: number): string => `"${revision}"`;

/** Whether a value is an answer. */
export function isAnswer(value: unknown): value is Answer {
  return typeof value === "object" && value !== null && (value as Answer).kind === "answer";
}
