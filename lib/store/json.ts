/** A value and its text, made once: what is stored may also be answered, and is not made again for it. */
import { jsonText } from "./engine/json_text.ts";

/** A value as JSON text. Made by `json`. */
export class Json<T = unknown> {
  readonly text: string;
  readonly value: T;
  constructor(text: string, value: T) {
    this.text = text;
    this.value = value;
  }
}

/** The text of a value, made now. Errors: `TypeError` for what JSON cannot hold; the place is named. */
export const json = <T>(value: T): Json<T> => new Json(jsonText(value, "value"), value);
