/** What people are told, and how often. */

const FORMAT = ["test/lib/operations/notify/format.test.ts"];
const NOTICES = ["test/lib/operations/notify/notices.test.ts"];
const NOTIFY = ["test/lib/operations/notify.test.ts"];
const format = { file: "lib/operations/notify/format.ts", tests: FORMAT };
const words = { file: "lib/operations/notify/words.ts", tests: FORMAT };
const expiring = { file: "lib/operations/expiring.ts", tests: NOTICES };
const post = { file: "lib/operations/notify/post.ts", tests: NOTIFY };

const TRACE = ["test/lib/operations/trace.test.ts"];

export const notifications = [
  {
    ...post,
    name: "what ends an attempt may be collected before its time is up",
    find: "await stoppable(ended, attempt, timeout)",
    replace: "await attempt(AbortSignal.any([ended, AbortSignal.timeout(timeout)]))",
    only: "collected",
  },
  {
    ...format,
    name: "a summary calls everybody in the Slack channel",
    find: "const escaped = text.replace(/[&<>]/g, (character) => ENTITIES[character]!);",
    replace: "const escaped = ENTITIES ? text : text;",
  },
  {
    ...format,
    name: "Slack takes what people wrote for its markup",
    find: '({ type: "plain_text", text: forSlack(words), emoji: false })',
    replace: '({ type: "mrkdwn", text: forSlack(words) })',
  },
  {
    ...format,
    name: "Teams takes what people wrote for Markdown",
    find: 'inlines: [{ type: "TextRun", text: words, ...style }],',
    replace: 'inlines: [{ type: "TextBlock", text: words, ...style }],',
  },
  {
    ...format,
    name: "a message is longer than Slack takes",
    find: "escaped.length <= SLACK_MOST * 5 ?",
    replace: "SLACK_MOST > 0 ?",
  },
  {
    ...words,
    name: "a name that is a link stands in the sentence as it is",
    find: "CALLS.test(name) ? quote(name, LONGEST) : label(name)",
    replace: "CALLS.test(name) ? name : label(name)",
  },
  {
    ...words,
    name: "words from right to left carry along what stands beside them",
    find: "RIGHT_TO_LEFT.test(text) ? `\\u2068${text}\\u2069` : text);",
    replace: "RIGHT_TO_LEFT.test(text) ? text : text);",
  },
  {
    ...expiring,
    name: "a change that expires soon is told of in each cycle",
    find: 'tx.put("meta", "expiring", { ...announced, [status]: fresh.at(-1)!.place });',
    replace: "void announced;",
  },
  {
    ...expiring,
    name: "two processes tell of the same change",
    find: 'const fresh = due.filter(({ place }) => place > (announced[status] ?? ""));',
    replace: "const fresh = due;",
  },
  {
    ...expiring,
    name: "an approved change that lapses is told of only where it was not told of before",
    find: 'const announced = (await deps.store.get("meta", "expiring"))?.value[status] ?? "";',
    replace: 'const announced = (await deps.store.get("meta", "expiring"))?.value.pending_consent ?? "";',
  },
  {
    ...expiring,
    name: "a clock that is wrong for a moment makes changes run out of time",
    find: "const now = await certainNow(deps);",
    replace: "await certainNow(deps); const now = deps.clock.now();",
  },
  {
    file: "lib/operations/mismatches.ts",
    name: "a restart tells of the same record again",
    find: "const unseen = reported.filter((id) => !known.has(id)).slice(0, LOOKED_AT);\n  const mended = new Set(unseen.length === 0 ? [] : await listRepaired(deps, unseen));",
    replace: "void [listRepaired, LOOKED_AT]; const mended = new Set(reported.filter((id) => !known.has(id)));",
    tests: NOTICES,
    only: "not what the log tells",
  },
  {
    file: "lib/operations/evaluate.ts",
    name: "a log that is broken anew after it was mended is not told of",
    find: "(storedBreach ? !storedBreach.noticed : breach !== before.breach)",
    replace: "breach !== before.breach",
    tests: NOTICES,
    only: "does not hold",
  },
  {
    ...post,
    name: "a receiver that asks for a pause gets none",
    find: "after: readRetryDelay(response, now) };",
    replace: "after: void readRetryDelay };",
    only: "left alone",
  },
  {
    ...post,
    name: "what a receiver answers is repeated in the log",
    find: "const answered = `the receiver answered ${status}`;",
    replace: "const answered = `the receiver answered ${status} ${said}`;",
    only: "plain words",
  },
  {
    ...post,
    name: "what goes to Slack is signed with the secret of the receivers",
    find: 'const signed = key && format === "json" ?',
    replace: "const signed = key ?",
    only: "no signature",
  },
  {
    file: "lib/operations/notifications.ts",
    name: "an entry that somebody broke holds back the word of it",
    find: "const { status } = parseDetail(detail);",
    replace: "void parseDetail; const { status } = JSON.parse(detail);",
    tests: NOTICES,
    only: "does not hold",
  },
  {
    file: "lib/operations/notifications.ts",
    tests: NOTICES,
    name: "a record that somebody broke holds back every notification after it",
    find: "return aboutChange(deps, undefined, words);",
    replace: "throw error;",
  },
  {
    name: "an entry has the trace of the request that its commit is made with",
    file: "lib/changes/transaction.ts",
    find: "rememberTrace(integrity, entry.value, trace)",
    replace: "rememberTrace(integrity, entry.value, currentTrace())",
    tests: TRACE,
  },
  {
    name: "a cycle continues the trace of who asks for it",
    file: "lib/operations/cycle.ts",
    find: "runInTrace(newTrace(), () => takeSteps(deps, report, quick))",
    replace: "takeSteps(deps, report, quick)",
    tests: TRACE,
  },
  {
    name: "a trace without an id is passed on",
    file: "lib/kit/trace.ts",
    find: "(?!0{32})",
    replace: "",
    tests: TRACE,
  },
];
