/** Measures each step of a change and some reads, compared with a node:http server that parses and answers as many bytes. */
import { processorTime } from "./cpu_time.mjs";
import { findChangeId, load, median, requestBytes } from "./load.mjs";
import {
  waitUntilIdle,
  countFolderBytes,
  runCycle,
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

/**
 * Returns rates and processor time of the service relative to the reference, as medians of the rounds. `ofRate` and `ofCpu`
 * are 1 if both are equally fast, and below 1 if the service is slower; `ofCpu` is NaN without /proc.
 */
export async function measureSteps({ warmUp, rounds, requests, seconds }) {
  const folder = await temporaryFolder();
  const service = await startService(folder);
  const reference = await startReference();
  const measure = async (server, plan, waitUntilDone = async () => {}) => {
    const before = await processorTime(server);
    const figures = await load({ port: server.port, ...plan });
    await waitUntilDone();
    return { ...figures, cpu: ((await processorTime(server)) - before) / plan.count };
  };
  const rows = new Map();
  /** Measures the service, then the reference with the same requests. */
  const measurePair = async (name, plan, waitUntilDone) => {
    const serviceFigures = await measure(service, plan, waitUntilDone);
    await reference.setAnswerBytes(serviceFigures.bytes);
    const referenceFigures = await measure(reference, { ...plan, expected: 200, onAnswer: undefined });
    if (!rows.has(name)) rows.set(name, []);
    rows.get(name).push({ serviceFigures, referenceFigures });
  };
  const writtenBytes = new Map();
  /** Measures writes together with their projections, which end before the reference runs on the same core. */
  const measureWrites = async (name, plan) => {
    const before = await countFolderBytes(service);
    await measurePair(name, plan, () => waitUntilIdle(service));
    if (!writtenBytes.has(name)) writtenBytes.set(name, []);
    writtenBytes.get(name).push(((await countFolderBytes(service)) - before) / plan.count);
  };
  const planStep = (ids, path, fields) => {
    const prepared = ids.map((change_id) => requestBytes("POST", path, { change_id, ...fields }));
    return { count: ids.length, request: (n) => prepared[n], expected: 200 };
  };
  const proposal = requestBytes("POST", "/api/product/propose", PROPOSAL);
  const planReads = (path) => {
    const bytes = requestBytes("GET", path);
    return { count: requests, request: () => bytes, expected: 200 };
  };

  const planProposals = (count, ids) => ({
    count,
    request: () => proposal,
    expected: 201,
    onAnswer: (_, answer) => ids.push(findChangeId(answer)),
  });

  // Round -1 is the warm-up, whose figures are discarded.
  for (let round = -1; round < rounds; round++) {
    const count = round < 0 ? warmUp : requests;
    const ids = [];
    await measureWrites("propose", planProposals(count, ids));
    await measureWrites("approve", planStep(ids, "/api/product/approve", { approver: "bo" }));
    await measureWrites("apply", planStep(ids, "/api/product/apply", {}));
    await measureWrites("rollback", planStep(ids, "/api/product/rollback", {}));
    await measurePair("audit page of 100", {
      ...planReads("/api/product/audit?limit=100"),
      count: Math.ceil(count / 4),
    });
    await measurePair("state", planReads("/api/state"));
    await measurePair("one change's page", planReads(`/api/product/changes/${ids[0]}`));
    await measurePair("livez", planReads("/livez"));
    if (round < 0) for (const figures of [rows, writtenBytes]) figures.clear();
  }

  const pause = await longestPause(service, async () => {
    for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
      const ids = [];
      await load({ port: service.port, ...planProposals(requests, ids) });
      // Denied, because ten minutes of proposals would otherwise leave millions of open changes.
      await load({ port: service.port, ...planStep(ids, "/api/product/deny", { approver: "bo" }) });
    }
  });
  await Promise.all([stop(service), stop(reference)]);
  return {
    steps: [...rows].map(([name, pairs]) => ({
      name,
      perSecond: median(pairs.map(({ serviceFigures }) => serviceFigures.perSecond)),
      p99: median(pairs.map(({ serviceFigures }) => serviceFigures.p99)),
      cpu: median(pairs.map(({ serviceFigures }) => serviceFigures.cpu)),
      ofRate: median(
        pairs.map(({ serviceFigures, referenceFigures }) => serviceFigures.perSecond / referenceFigures.perSecond),
      ),
      ofCpu: median(pairs.map(({ serviceFigures, referenceFigures }) => referenceFigures.cpu / serviceFigures.cpu)),
    })),
    written: [...writtenBytes].map(([name, bytes]) => ({ name, bytes: median(bytes) })),
    pause,
  };
}
