/** Distinguishes questions from statements, so that questions are not stored as memories. */

/** Chinese questions: by a final particle or by a word within the sentence. */
const QUESTION_ZH =
  /[吗呢么][\s\p{P}]*$|什么|怎么|为何|为什么|为啥|谁|哪|多少|几个|是否|有没有|是不是|如何|能否|请(?:问|列|给|告诉|显示)/u;
/** First words of English questions and requests without a question mark. */
const QUESTION_EN =
  /^(?:(?:and|so|but|hey|hi|hello|please|ok)[\s,]+)*(?:who|whose|what|when|where|why|how|which|is|are|was|were|am|do|does|did|can|could|should|may|might|must|shall|will|would|has|have|had|any|anything|anybody|show|list|tell me|give me|explain|find|search|look up|remind me|help|status)\b/i;
/** Ends of sentences; a dot within a word, as in `ui.banner`, does not end one. */
const SENTENCE_ENDS = /(?<=[.!?])\s+|(?<=[。！？；])|\n+/u;

const isQuestion = (sentence: string): boolean =>
  /[?？]\s*$/u.test(sentence) || QUESTION_EN.test(sentence.trim()) || QUESTION_ZH.test(sentence);

/** Returns true for a message in which every sentence is a question; also for one without letters and digits. */
export const hasOnlyQuestions = (message: string): boolean =>
  message
    .split(SENTENCE_ENDS)
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence))
    .every(isQuestion);
