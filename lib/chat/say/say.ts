/** What the built-in responder says, by language. */
import type { Language } from "../question/read.ts";
import { queries as queriesEn, daysOf as daysEn } from "./en_query.ts";
import { fields as fieldsEn } from "./en_fields.ts";
import { topics as topicsEn } from "./en_topics.ts";
import { records as recordsEn } from "./en_records.ts";
import { daysOf as daysZh, queries as queriesZh } from "./zh_query.ts";
import { fields as fieldsZh } from "./zh_fields.ts";
import { records as recordsZh } from "./zh_records.ts";
import { topics as topicsZh } from "./zh_topics.ts";

const EN = { ...queriesEn, ...recordsEn, ...topicsEn, ...fieldsEn, days: daysEn };
/** What a language of the responder must be able to say. */
export type Say = typeof EN;
const ZH: Say = { ...queriesZh, ...recordsZh, ...topicsZh, ...fieldsZh, days: daysZh };

/** The responder's language. */
export const sayIn = (language: Language): Say => ({ en: EN, zh: ZH })[language];
