/** A record's key and its last version. */
import type { Json } from "./json.ts";

/** The key of one record. */
export interface Key {
  readonly collection: string;
  readonly id: string;
}

/** A record's last version. A deleted record has no `json`, and the last revision that it had. */
export interface Version extends Key {
  readonly revision: number;
  readonly json: Json | undefined;
}
