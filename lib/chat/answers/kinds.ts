/** What can be asked: each kind of question with how it is recognised and answered. The first that fits answers. */
import type { Kind } from "./kind.ts";
import { OF_CHANGES } from "./kinds_of_changes.ts";
import { OF_DECIDING } from "./kinds_of_deciding.ts";
import { OF_MEASURES } from "./kinds_of_measures.ts";
import { OF_RECORDS } from "./kinds_of_records.ts";

/** In the order in which they are tried: what is asked more plainly comes first. */
export const KINDS: readonly Kind[] = [...OF_MEASURES, ...OF_DECIDING, ...OF_RECORDS, ...OF_CHANGES];
