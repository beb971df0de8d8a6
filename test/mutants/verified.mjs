/** What is taken from the log at the moment it is used, what the cycles look at, and what is made anew. */

const USE = ["test/lib/governance/verified_at_use.test.ts"];
const PATROL = ["test/lib/governance/patrol.test.ts"];
const ATTACKS = ["test/tamper/running.test.ts"];
const record = { file: "lib/governance/verified_record.ts", tests: USE };
const evidence = { file: "lib/governance/evidence.ts", tests: USE };
const patrol = { file: "lib/governance/patrol.ts", tests: PATROL };
const outline = { file: "lib/audit/outline.ts", tests: ATTACKS };
const reading = { file: "lib/audit/read_log.ts", tests: ATTACKS };

export const verified = [
  {
    ...record,
    name: "a record that was set back to before a denial comes back",
    find: "if (entries.length !== audit.length || entries.some(({ id }, index) => id !== audit[index]))",
    replace: "entries.splice(audit.length);\n  if (entries.some(({ id }, index) => id !== audit[index]))",
    grave: true,
  },
  {
    ...record,
    name: "a record is mended with the content that somebody put into it",
    find: "return isWhole(record) && differences(told, record, sha256).length === 0 ? record : undefined;",
    replace: "return isWhole(record) || sha256 ? record : undefined;",
  },
  {
    ...record,
    name: "one record that does not hold stops all that time makes due",
    find: 'if (error instanceof AppError && error.code === "evidence_mismatch") return undefined;',
    replace: "",
  },
  {
    ...evidence,
    name: "an entry that was edited is believed when it is used",
    find: "if (entry?.id !== id || !isSound(entry, sha256) || (id > outline.after && !outline.isAsRead(entry)))",
    replace: "if (!entry || id < 0 || !sha256)",
    grave: true,
  },
  {
    ...evidence,
    name: "an entry whose hash was made right again is believed when it is used",
    find: " || (id > outline.after && !outline.isAsRead(entry)))",
    replace: ")",
  },
  {
    ...evidence,
    name: "the day's minor changes are those of which the rest of the log was read by chance",
    find: "if (!lowest || lowest.timestamp >= moment) throw new NotRead(Math.max(1, outline.after + 1 - STRETCH));",
    replace: "",
    tests: ["test/lib/governance/outline.test.ts"],
  },
  {
    file: "lib/governance/freeze.ts",
    name: "a freeze that somebody took out of the store is lifted",
    find: 'const told = await evidence.lastOf("service_frozen", "service_unfrozen");',
    replace: "const told = undefined as never as Awaited<ReturnType<typeof evidence.lastOf>>;",
    tests: USE,
  },
  {
    file: "lib/governance/guardrail.ts",
    name: "a rollback by a guardrail that never tripped is carried out",
    find: "if (await isTold(transaction, changeId, evidence)) return;",
    replace: "if (evidence) return;",
    tests: ATTACKS,
    grave: true,
  },
  {
    file: "lib/governance/kpis_told.ts",
    name: "an apply remembers the KPIs that somebody put into the store",
    find: "const value = (await isTold(evidence, kpi, kept)) ? kept.value : await lastFed(evidence, kpi);",
    replace: "const value = kept.value;",
    tests: USE,
  },
  {
    file: "lib/governance/replay.ts",
    name: "a kept answer that was forged is given",
    find: "if (await isTold(parsed(answer.text), log)) return answer;",
    replace: "if (log) return answer;",
    tests: USE,
  },
  {
    ...patrol,
    name: "cycles do not look at what is far back",
    find: "await lookAt(deps, state, { after, end: state.entry, judging: false });",
    replace: "",
  },
  {
    ...patrol,
    name: "cycles do not look at the newest entries",
    find: "await lookAt(deps, state, { after: Math.max(0, length - share), end: length, judging: true });",
    replace: "",
  },
  {
    ...patrol,
    name: "what lies behind the log's end is not seen",
    find: "await requireEnd(deps);",
    replace: "",
    tests: ATTACKS,
  },
  {
    ...patrol,
    name: "what was put right is named for ever",
    find: "if (fields.length === 0) misfits.delete(id);",
    replace: "",
  },
  {
    file: "lib/audit/report_breach.ts",
    name: "a breach is not told to other processes",
    find: 'if (!(await tx.get("meta", "breach"))) tx.put("meta", "breach", { ...breach, known });',
    replace: "await Promise.resolve([tx, known]);",
    tests: PATROL,
  },
  {
    file: "lib/audit/review_breach.ts",
    name: "a breach is forgotten with the process that found it",
    find: "(await verifyChain(deps)).breach === undefined && (await isKnown())",
    replace: "(await isKnown()) || (await verifyChain(deps))",
    tests: PATROL,
  },
  {
    ...outline,
    name: "an entry passes for another that was read",
    find: "return piece !== undefined && wordsOf(current_hash).every((word, index) => piece.hashes[place + index] === word);",
    replace:
      "return piece !== undefined && wordsOf(current_hash).every((_, index) => piece.hashes[place + index] !== -1);",
  },
  {
    ...outline,
    name: "what a transaction saw counts as durable where it failed",
    find: "seen = durable;\n    },",
    replace: "durable = seen;\n    },",
    tests: ["test/lib/governance/outline.test.ts"],
  },
  {
    ...reading,
    name: "a log that was cut is read on",
    find: "if (!head || head.length < known.length)",
    replace: "if (!head)",
  },
  {
    ...reading,
    name: "a log that was rewritten up to its end is read on",
    find: "if (head.length === known.length && head.head !== known.head) throw rewritten(known.length);",
    replace: "",
  },
  {
    ...reading,
    name: "entries are read back without those after them",
    find: "if (entry.current_hash !== expected || !isSound(entry, sha256))",
    replace: "if (!isSound(entry, sha256))",
    tests: ["test/lib/governance/outline.test.ts"],
  },
  {
    ...outline,
    name: "what a transaction saw in vain stands before what is durable",
    find: "      if (!isAsRead(entry)) {\n        seen = durable;",
    replace: "      if (!isAsRead(entry)) {",
    tests: ["test/lib/audit/read_log.test.ts"],
    grave: true,
  },
  {
    file: "lib/governance/rebuild.ts",
    name: "what is made anew leaves the views as they were",
    find: "      else tx.put(view, id, value as never);\n",
    replace: "",
    tests: PATROL,
  },
  {
    file: "local/file_adapter/operations.ts",
    name: "a rollback puts back what somebody wrote into the adapter's records",
    find: "if (kept === told) return;",
    replace: "if (kept !== told || kept === told) return;",
    tests: ["test/local/file_adapter/replaced.test.ts"],
    grave: true,
  },
  {
    ...reading,
    name: "a decision goes by a log whose tail was cut",
    find: "if (head.length < outline.durable.length) throw new NotRead(from);",
    replace: "",
    tests: USE,
  },
];
