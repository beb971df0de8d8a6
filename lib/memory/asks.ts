/** Distinguishes questions from statements. A question is no answer to somebody who asks it again. */

/** Chinese asks by words within a sentence as well as by its mark, or by the one that it ends with. */
const QUESTION_ZH =
  /[吗呢么][\s\p{P}]*$|什么|怎么|为何|为什么|为啥|谁|哪|多少|几个|是否|有没有|是不是|如何|能否|请(?:问|列|给|告诉|显示)/u;
/** How a question or a request for an answer begins in English, where no mark says so. */
const QUESTION_EN =
  /^(?:(?:and|so|but|hey|hi|hello|please|ok)[\s,]+)*(?:who|whose|what|when|where|why|how|which|is|are|was|were|am|do|does|did|can|could|should|may|might|must|shall|will|would|has|have|had|any|anything|anybody|show|list|tell me|give me|explain|find|search|look up|remind me|help|status)\b/i;
/** A point within a word ends no sentence: `ui.banner`. */
const SENTENCE_ENDS = /(?<=[.!?])\s+|(?<=[。！？；])|\n+/u;

const isQuestion = (sentence: string): boolean =>
  /[?？]\s*$/u.test(sentence) || QUESTION_EN.test(sentence.trim()) || QUESTION_ZH.test(sentence);

/** Returns whether every sentence of a message asks. */
export const hasOnlyQuestions = (message: string): boolean =>
  message
    .split(SENTENCE_ENDS)
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence))
    .every(isQuestion);
