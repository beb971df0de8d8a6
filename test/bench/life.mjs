/** Every step of a change's life, and the pages people read, next to node:http that parses and answers as many bytes. */
import { processorTime } from "./cpu_time.mjs";
import { findChangeId, load, median, requestBytes } from "./load.mjs";
import {
  atRest,
  countFolderBytes,
  caughtUp,
  longestPause,
  startReference,
  startService,
  stop,
  temporaryFolder,
} from "./programs.mjs";

const PROPOSAL = {
  tenant_id: "t1",
  kind: "config",
  target: "limits.seats",
  value: "40",
  summary: "Forty seats for the small plan",
  rationale: "Most small teams ask for them within their first month",
  expected_delta_k: "12",
  kpi: "deal_win_rate",
};

/** Rates and processor's time of the service's answers over those of the reference, by the median of the rounds. */
export async function life({ warmUp, rounds, requests, seconds }) {
  const folder = await temporaryFolder();
  const service = await startService(folder);
  const reference = await startReference();
  const measured = async (server, plan, settled = async () => {}) => {
    const before = await processorTime(server);
    const measured = await load({ port: server.port, ...plan });
    await settled();
    return { ...measured, cpu: ((await processorTime(server)) - before) / plan.count };
  };
  const rows = new Map();
  /** One load of the service, then the same requests to the reference. */
  const pair = async (name, plan, settled) => {
    const ours = await measured(service, plan, settled);
    await reference.answering(ours.bytes);
    const theirs = await measured(reference, { ...plan, expected: 200, answered: undefined });
    if (!rows.has(name)) rows.set(name, []);
    rows.get(name).push({ ours, theirs });
  };
  const written = new Map();
  /** Projections count with the writes they follow; they are done when the reference runs on the same core. */
  const writing = async (name, plan) => {
    const before = await countFolderBytes(service);
    await pair(name, plan, () => atRest(service));
    if (!written.has(name)) written.set(name, []);
    written.get(name).push(((await countFolderBytes(service)) - before) / plan.count);
  };
  const step = (ids, path, fields) => {
    const prepared = ids.map((change_id) => requestBytes("POST", path, { change_id, ...fields }));
    return { count: ids.length, request: (n) => prepared[n], expected: 200 };
  };
  const proposal = requestBytes("POST", "/api/product/propose", PROPOSAL);
  const read = (path) => {
    const bytes = requestBytes("GET", path);
    return { count: requests, request: () => bytes, expected: 200 };
  };

  const proposing = (count, ids) => ({
    count,
    request: () => proposal,
    expected: 201,
    answered: (_, answer) => ids.push(findChangeId(answer)),
  });

  for (let round = -1; round < rounds; round++) {
    const count = round < 0 ? warmUp : requests;
    const ids = [];
    await writing("propose", proposing(count, ids));
    await writing("approve", step(ids, "/api/product/approve", { approver: "bo" }));
    await writing("apply", step(ids, "/api/product/apply", {}));
    await writing("rollback", step(ids, "/api/product/rollback", {}));
    await pair("audit page of 100", { ...read("/api/product/audit?limit=100"), count: Math.ceil(count / 4) });
    await pair("state", read("/api/state"));
    await pair("one change's page", read(`/api/product/changes/${ids[0]}`));
    await pair("livez", read("/livez"));
    if (round < 0) for (const kept of [rows, written]) kept.clear();
  }

  const pause = await longestPause(service, async () => {
    for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
      const ids = [];
      await load({ port: service.port, ...proposing(requests, ids) });
      // Left open, ten minutes of proposals would measure millions of open changes.
      await load({ port: service.port, ...step(ids, "/api/product/deny", { approver: "bo" }) });
    }
  });
  await Promise.all([stop(service), stop(reference)]);
  return {
    steps: [...rows].map(([name, pairs]) => ({
      name,
      perSecond: median(pairs.map(({ ours }) => ours.perSecond)),
      p99: median(pairs.map(({ ours }) => ours.p99)),
      cpu: median(pairs.map(({ ours }) => ours.cpu)),
      ofRate: median(pairs.map(({ ours, theirs }) => ours.perSecond / theirs.perSecond)),
      ofCpu: median(pairs.map(({ ours, theirs }) => theirs.cpu / ours.cpu)),
    })),
    written: [...written].map(([name, bytes]) => ({ name, bytes: median(bytes) })),
    pause,
  };
}
