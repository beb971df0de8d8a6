/** What happens on the host: apply, rollback, the claim on them, and crashes between. */

const claims = ["test/lib/governance/claims.test.ts"];
const flow = ["test/lib/governance/adapter_flow.test.ts"];
const crash = ["test/lib/governance/crash.test.ts"];
const tampering = ["test/lib/governance/tampering.test.ts"];
const operate = { file: "lib/governance/operation/run.ts" };
const claim = { file: "lib/governance/operation/lease.ts", tests: claims };
const host = {
  file: "lib/governance/operation/run_adapter.ts",
  tests: ["test/lib/governance/host_run.test.ts", ...flow],
};
const open = { file: "lib/governance/open.ts", tests: ["test/lib/governance/open.test.ts"] };

export const operations = [
  {
    ...operate,
    name: "a consent entry of another change counts",
    find: "if (entry?.change_id !== change.change_id) return false;",
    replace: "if (entry === undefined) return false;",
    tests: tampering,
    grave: true,
  },
  {
    ...operate,
    name: "a consent that the log does not tell of counts",
    find: "return told !== undefined && differences(told, record, sha256).length === 0;",
    replace: "return true;",
    tests: tampering,
  },
  {
    ...operate,
    name: "content that was edited after the consent is applied",
    find: 'if (operation === "apply" && !(await isAsApproved(unit, record)))',
    replace: "if (false)",
    tests: tampering,
  },
  {
    ...operate,
    name: "an apply of edited content is refused and leaves no trace",
    find: "if (!dryRun) await settleFailure(unit, record",
    replace: "if (false) await settleFailure(unit, record",
    tests: tampering,
  },
  {
    ...operate,
    name: "consent is not asked again under today's intent",
    find: 'if (operation === "apply") requireConsent(record.change, unit.product.intent.policy);',
    replace: "",
    tests: ["test/lib/governance/today.test.ts"],
  },
  {
    ...operate,
    name: "the host is touched before it is known whether the change may be applied",
    find: "  transition(record.change, operation);\n",
    replace: "",
    tests: [...flow, ...claims],
  },
  {
    ...operate,
    name: "two processes run one operation at once",
    find: "  if (claim) throw inProgress(input.change_id);\n",
    replace: "",
    tests: claims,
    grave: true,
  },
  {
    ...operate,
    name: "a rehearsal applies",
    find: "  if (input.dry_run) return { rehearse: record };\n",
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
    ...operate,
    name: "an apply does not look at the revision it is asked under",
    find: "  if (caller.request) requireMatch(caller.request, record.change.revision);\n",
    replace: "",
    tests: flow,
  },
  {
    ...operate,
    name: "a process that was held up changes the host after its time",
    find: "() => clock.now() <= lastStart(claim.ends)",
    replace: "() => true",
    tests: claims,
  },
  {
    ...operate,
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
    tests: [...crash, ...claims],
  },
  {
    ...operate,
    name: "what the adapter said of its failure reaches the client",
    find: "`the adapter ${adapter.name} failed in ${stage}; the change stays",
    replace: "`the adapter ${adapter.name} failed in ${stage} (${error}); the change stays",
    tests: flow,
  },
  {
    ...claim,
    name: "a claim never ends, whatever became of its process",
    find: "claim.owner === owner || now >= claim.ends",
    replace: "claim.owner === owner",
  },
  {
    ...claim,
    name: "a live claim of another process is taken over",
    find: "claim.owner === owner || now >= claim.ends",
    replace: "true",
  },
  {
    ...claim,
    name: "a late result is committed under another's claim",
    find: "if (current?.number !== claim.number || current.owner !== claim.owner) throw inProgress(claim.change_id);",
    replace: "",
  },
  {
    name: "a claim that a crash left is settled without asking the host",
    file: "lib/governance/operation/recover.ts",
    find: 'const host = adapter && record ? await stateOf(adapter, record.change) : "unknown";',
    replace: 'const host = "unknown" as import("./adapter.ts").HostState; void [adapter, record, stateOf];',
    tests: crash,
  },
  {
    name: "an apply that a crash interrupted counts as done whatever the host shows",
    file: "lib/governance/operation/recover.ts",
    find: 'claim.operation === "apply" ? host === "applied" :',
    replace: 'claim.operation === "apply" ? true :',
    tests: crash,
  },
  {
    name: "a rollback that left nothing behind counts as failed after a crash",
    file: "lib/governance/operation/recover.ts",
    find: 'host === "rolled_back" || host === "absent";',
    replace: 'host === "rolled_back";',
    tests: [...crash, ...claims],
  },
  {
    name: "a start does not settle what the last process left half done",
    file: "lib/governance/operation/recover.ts",
    find: "if (!current || !(all || isAbandoned(current, deps.owner, deps.clock.now()))) return;",
    replace: "if (!current || !isAbandoned(current, deps.owner, deps.clock.now())) return;",
    tests: crash,
  },
  {
    ...host,
    name: "an apply is believed without looking at the host",
    find: 'if (state === "applied") return { ok: true, result };',
    replace: "return { ok: true, result };",
    grave: true,
  },
  {
    ...host,
    name: "a rollback is believed without looking at the host",
    find: 'if (state === "rolled_back" || state === "absent") return { ok: true, result };',
    replace: "return { ok: true, result };",
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
    find: "return await Promise.race([run(controller.signal), timeUp]);",
    replace: "void timeUp.catch(() => {}); return await run(controller.signal);",
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
    find: "  await verifyTail(deps, tail);\n",
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
  {
    name: "a change loses its place among those that wait when it is decided",
    file: "lib/governance/transaction.ts",
    find: 'if (isLive(after)) tx.put("live", liveKey(after), true);',
    replace: 'if (after.status === "pending_consent") tx.put("live", liveKey(after), true);',
    tests: ["test/contract/http.test.ts"],
    only: "bare handlers views",
  },
];
