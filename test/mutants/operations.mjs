/** What happens on the host: apply, rollback, the lease on them, and crashes between. */

const leases = ["test/lib/governance/operation/lease.test.ts"];
const flow = ["test/lib/governance/operation/run.test.ts"];
const crash = ["test/lib/governance/operation/recover.test.ts"];
const tampering = ["test/lib/governance/tampering.test.ts"];
const silent = ["test/lib/governance/operation/silent_host.test.ts"];
const recover = { file: "lib/governance/operation/recover.ts" };
const begin = { file: "lib/governance/operation/begin.ts" };
const operate = { file: "lib/governance/operation/run.ts" };
const lease = { file: "lib/governance/operation/lease.ts", tests: leases };
const host = {
  file: "lib/governance/operation/run_adapter.ts",
  tests: ["test/lib/governance/operation/run_adapter.test.ts", ...flow],
};
const open = { file: "lib/governance/open.ts", tests: ["test/lib/governance/open.test.ts"] };

export const operations = [
  {
    ...operate,
    name: "the lease on a change that the host may hold is dropped",
    find: "if (!run.ok && isUnsettled(run.failure)) await",
    replace: "if (false) await",
    tests: silent,
    grave: true,
  },
  {
    ...operate,
    name: "an operation is tried again while the host is silent",
    find: 'if (host === "silent") throw unsettled(input.change_id);',
    replace: 'if (host === "silent") repeats = begun.lease;',
    tests: silent,
  },
  {
    ...recover,
    name: "what the host shows late counts without a consent that still stands",
    find: "if (!(await isConsented(transaction, before))) {",
    replace: "if (false) {",
    tests: silent,
    grave: true,
  },
  {
    ...recover,
    name: "a silent host is told of in each cycle",
    find: "  if (lease.unsettled) return;\n",
    replace: "",
    tests: silent,
  },
  {
    ...begin,
    name: "a consent that the log does not tell of counts",
    find: "return told !== undefined && differences(told, record, sha256).length === 0;",
    replace: "return true;",
    tests: tampering,
  },
  {
    ...begin,
    name: "content that was edited after the consent is applied",
    find: "if (!isAsApproved(transaction, record, told))",
    replace: "if (false)",
    tests: tampering,
    grave: true,
  },
  {
    ...begin,
    name: "an apply of edited content is refused and leaves no trace",
    find: "if (!dryRun) recordFailure(",
    replace: "if (false) recordFailure(",
    tests: tampering,
  },
  {
    ...begin,
    name: "the host is touched before it is known whether the change may be applied",
    find: "  (input.dry_run ? requireRehearsable : requireOperable)(proven, operation, product.intent);\n",
    replace: "",
    tests: [...flow, ...leases],
  },
  {
    ...begin,
    name: "two processes run one operation at once",
    find: "  if (lease && !repeated) throw inProgress(change_id);\n",
    replace: "",
    tests: leases,
    grave: true,
  },
  {
    ...begin,
    name: "a rehearsal applies",
    find: '  if (input.dry_run) return { step: "rehearse", operation, record, owner: await ownerOf(tx, change) };\n',
    replace: "",
    tests: flow,
  },
  {
    ...operate,
    name: "the key of a rehearsal is free for the apply",
    find: "caller.idempotency ? governed<Answer>(caller, async () => rehearsal) : rehearsal",
    replace: "rehearsal",
    tests: ["test/contract/http.test.ts"],
    only: "bare handlers idempotency",
  },
  {
    ...begin,
    name: "an apply does not look at the revision it is asked under",
    find: "  if (caller.request) requireMatch(caller.request, change.revision);\n",
    replace: "",
    tests: flow,
  },
  {
    ...operate,
    name: "a process that was held up changes the host after its time",
    find: "deps.clock.now() <= lastStart(lease.ends)",
    replace: "true || lease.ends",
    tests: leases,
  },
  {
    ...begin,
    name: "a change may be tried for ever, each time audited",
    find: "if (audit.length < MOST_ENTRIES) return;",
    replace: "return;",
    tests: flow,
  },
  {
    ...operate,
    name: "a result that could not be written is told as if nothing had happened",
    find: "if (!(error instanceof StoreUnavailable || error instanceof StoreBusy)) throw error;",
    replace: "throw error;",
    tests: [...crash, ...leases],
  },
  {
    ...operate,
    name: "what the adapter said of its failure reaches the client",
    find: "`the adapter ${adapter.name} failed in ${stage}; the change stays",
    replace: "`the adapter ${adapter.name} failed in ${stage} (${error}); the change stays",
    tests: flow,
  },
  {
    ...lease,
    name: "a lease never ends, whatever became of its process",
    find: "lease.owner === owner || now >= lease.ends",
    replace: "lease.owner === owner",
  },
  {
    ...lease,
    name: "a live lease of another process is taken over",
    find: "lease.owner === owner || now >= lease.ends",
    replace: "true",
  },
  {
    ...lease,
    name: "a late result is committed under another's lease",
    find: "if (current?.number !== lease.number || current.ends !== lease.ends) throw inProgress(lease.change_id);",
    replace: "",
  },
  {
    ...lease,
    name: "two leases on one change may have one number",
    find: "number: length + 1,",
    replace: "number: 1,",
  },
  {
    name: "a lease that a crash left is settled without asking the host",
    file: "lib/governance/operation/recover.ts",
    find: "const host = await askHost(adapter, change);",
    replace: 'const host = "absent" as const; void askHost;',
    tests: crash,
  },
  {
    name: "an apply that a crash interrupted counts as done whatever the host shows",
    file: "lib/governance/operation/run_adapter.ts",
    find: 'operation === "apply" ? host === "applied" :',
    replace: 'operation === "apply" ? true :',
    tests: crash,
  },
  {
    name: "a rollback that left nothing behind counts as failed after a crash",
    file: "lib/governance/operation/run_adapter.ts",
    find: 'host === "rolled_back" || host === "absent";',
    replace: 'host === "rolled_back";',
    tests: [...crash, ...leases],
  },
  {
    name: "a start does not settle what the last process left half done",
    file: "lib/governance/operation/recover.ts",
    find: "if (!current || !(all || isAbandoned(current, deps.owner, deps.clock.now()))) return false;",
    replace: "if (!current || !isAbandoned(current, deps.owner, deps.clock.now())) return false;",
    tests: crash,
  },
  {
    ...host,
    name: "an apply is believed without looking at the host",
    find: "if (isDone(operation, host)) return { ok: true, result };",
    replace: 'if (operation === "apply" || isDone(operation, host)) return { ok: true, result };',
    grave: true,
  },
  {
    ...host,
    name: "a rollback is believed without looking at the host",
    find: "if (isDone(operation, host)) return { ok: true, result };",
    replace: 'if (operation === "rollback" || isDone(operation, host)) return { ok: true, result };',
  },
  {
    ...host,
    name: "what the adapter refuses is applied",
    find: "if (!validation.ok) return failed(",
    replace: "if (false) return failed(",
  },
  {
    ...host,
    name: "an apply that failed half way is left as it is",
    find: "await step((signal) => adapter.rollback(change, signal)).catch(() => undefined);",
    replace: "",
  },
  {
    ...host,
    name: "an adapter that never answers holds a request for ever",
    file: "lib/kit/time_limit.ts",
    find: "return await Promise.race([run(controller.signal), timeUp]);",
    replace: "void timeUp.catch(() => {}); return await run(controller.signal);",
  },
  {
    name: "an apply does not keep what it replaced",
    file: "lib/governance/operation/record_result.ts",
    find: "return { kpis, previous_digest: sha256(canonicalJson(previous.value)) };",
    replace: "void [sha256, canonicalJson]; return { kpis };",
    tests: ["test/lib/governance/entry_facts.test.ts"],
  },
  {
    name: "a target that held nothing passes for one of which nothing is known",
    file: "lib/governance/operation/record_result.ts",
    find: "if (previous === null) return { kpis, previous_digest: null };",
    replace: "",
    tests: ["test/lib/governance/entry_facts.test.ts"],
  },
  {
    ...open,
    name: "a store of another product is opened",
    find: "if (kept && kept.product_id !== product.identity.product_id)",
    replace: "if (false)",
  },
  {
    ...open,
    name: "a broken tail is served",
    find: "  if (!deps.integrity.breach) await verifyTail(deps, tail);\n",
    replace: "",
    tests: ["test/lib/audit/damage.test.ts"],
  },
  {
    name: "a broken log is written on",
    file: "lib/governance/transaction.ts",
    find: "  if (breach)\n    throw new AppError(",
    replace: "  if (breach && false)\n    throw new AppError(",
    tests: ["test/lib/audit/damage.test.ts"],
  },
];
