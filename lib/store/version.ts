import type { Json } from "./json.ts";

/** The name of one record. */
export interface Key {
  readonly collection: string;
  readonly id: string;
}

/** A record's last version. `revision` is the last one used; `json` is absent when the record was deleted. */
export interface Version extends Key {
  readonly revision: number;
  readonly json: Json | undefined;
}
