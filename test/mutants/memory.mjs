/** Memory and conversations: whose each is, what it rests on, and what displaces what. */

const ATTACKS = ["test/lib/memory/attacks.test.ts"];
const FOUND = ["test/lib/memory/queries.long.test.ts"];
const HISTORY = ["test/handlers/chat_history.test.ts"];
const PRIVACY = ["test/lib/memory/privacy.test.ts"];
const MODEL = ["test/lib/chat/model_chat.test.ts"];
const quote = { file: "lib/kit/quote.ts", tests: ["test/lib/kit/quote.test.ts"] };
const index = { file: "lib/memory/memory_index.ts", tests: ATTACKS };
const prompt = { file: "lib/chat/prompt.ts", tests: MODEL };

export const memory = [
  {
    name: "what was said late is not remembered",
    file: "lib/projections/memory.ts",
    find: 'note_added: "decision",',
    replace: "",
    tests: ["test/lib/projections/memories.test.ts"],
    only: "said late",
  },
  {
    ...quote,
    name: "a quotation has line breaks",
    find: 'replace(BREAKS, " ")',
    replace: 'replace(/ +/gu, " ")',
  },
  { ...quote, name: "a text closes its own quotation", find: '.replace(MARKS, "\'")', replace: "" },
  { ...quote, name: "a quotation hides characters", find: '.replace(UNSEEN, "")', replace: "" },
  {
    name: "what was said is told as if it were on record",
    file: "lib/memory/recall.ts",
    find: 'if (memoryBasis(kind) === "record") return text;',
    replace: "if (memoryBasis(kind)) return text;",
    tests: ATTACKS,
  },
  {
    name: "chat displaces feedback",
    file: "lib/projections/memory.ts",
    find: 'addMemory(tx, "chat_memories", { seq, count: chat }, memory)',
    replace: 'addMemory(tx, "memories", { seq, count: chat }, memory)',
    tests: ["test/lib/memory/eviction.test.ts"],
    only: "twenty thousand messages",
  },
  {
    ...index,
    name: "what was said ranks before what is on record",
    find: "const ranked = [...fits, ...statementHits, ...rest];",
    replace: "const ranked = [...statementHits, ...fits, ...rest];",
  },
  {
    name: "questions are remembered",
    file: "lib/chat/reply.ts",
    find: "remembered && !hasOnlyQuestions(text)",
    replace: "remembered && (hasOnlyQuestions(text) || true)",
    tests: PRIVACY,
  },
  {
    name: "search finds what was said in other people's conversations",
    file: "lib/memory/search_index.ts",
    find: "if (conversation !== undefined && conversation !== own) return;",
    replace: "void own;",
    tests: PRIVACY,
  },
  {
    ...index,
    name: "a message without a conversation is found by everybody",
    find: 'memory.conversation ?? ""',
    replace: "memory.conversation",
    tests: PRIVACY,
  },
  {
    name: "the rationale of a proposal is not remembered",
    file: "lib/projections/memory.ts",
    find: "given: rationale, quoted",
    replace: 'given: "", quoted',
    tests: ["test/lib/projections/memories.test.ts"],
  },
  {
    name: "the verdict on an erased change is remembered",
    file: "lib/projections/outcomes/verdict_memory.ts",
    find: 'context.tx.delete("outcome_memories", record.memory);',
    replace: "",
    tests: ["test/lib/changes/erase.test.ts"],
  },
  {
    name: "a memory that cannot be kept costs the reply",
    file: "lib/chat/reply.ts",
    find: "const turn = await keep(false);",
    replace: "if (error) throw error;\n    const turn = await keep(false);",
    tests: ATTACKS,
  },
  {
    name: "a message that may have been kept is kept again",
    file: "lib/chat/reply.ts",
    find: "if (error instanceof OutcomeUnknown) throw error;",
    replace: "void OutcomeUnknown;",
    tests: ["test/handlers/chat.test.ts"],
  },
  {
    name: "everybody shares one conversation",
    file: "lib/memory/history.ts",
    find: 'person === null ? "main" :',
    replace: 'person || true ? "main" :',
    tests: HISTORY,
  },
  {
    name: "a person's own conversation is anybody's by its name",
    file: "lib/chat/conversation.ts",
    find: "!name.startsWith(PERSONAL)",
    replace: "!name.startsWith(`${PERSONAL}!`)",
    tests: HISTORY,
  },
  {
    ...prompt,
    name: "what others said before reaches the model as the asker's own words",
    find: "const own = new Set(earlier.filter((turn) => isOwn(turn, asked))",
    replace: "const own = new Set(earlier.filter((turn) => isOwn(turn, asked) || turn)",
  },
  {
    ...prompt,
    name: "a name that anybody may give makes words somebody's own",
    find: "Boolean(turn.known && asked.known) &&",
    replace: "",
  },
  {
    name: "a memory of a proposal tells what somebody wrote into the change beside the log",
    file: "lib/memory/recall.ts",
    find: "asProven(deps)",
    replace: "storedChangeFinder(deps.store)",
    tests: ["test/lib/memory/memories.test.ts"],
    only: "edited outside the log",
  },
  {
    name: "one record that is none ends every search",
    file: "lib/memory/proposal_texts.ts",
    find: "record && isCompleteRecord(record) ? record.change : undefined",
    replace: "record?.change",
    tests: ["test/lib/memory/memories.test.ts"],
    only: "edited outside the log",
  },
];
