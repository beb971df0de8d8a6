/** Compares the receipts of the clients with the service's log, changes and product file, without the program's own code. */
import { readFile } from "node:fs/promises";
import { ask } from "./service.mjs";

/** Order of the statuses of a change in this test. */
const RANK = { pending_consent: 0, approved: 1, applied: 2, rolled_back: 3 };
const STATUS_AFTER_EVENT = {
  change_proposed: "pending_consent",
  consent_decision: "approved",
  change_applied: "applied",
  change_rolled_back: "rolled_back",
};

/** Creates an empty ledger; each failed check adds to `faults`. */
export function newLedger() {
  const faults = [];
  /** Acknowledged entries by id. */
  const receipts = [];
  /** The most advanced acknowledged status of each change. */
  const statuses = new Map();
  /** Hashes of the entries that were read from the log, by id. */
  const hashes = [];
  /** Each change as the entries read so far describe it. */
  const changes = new Map();
  /** By target key, the ids of its changes that are applied, in order of their applies. */
  const stacks = new Map();
  const eventCounts = {};
  /** Changes that were acknowledged since the last check. */
  let unchecked = new Set();

  const fault = (kind, text) => void faults.push({ kind, text });

  const ledger = { faults, fault, requested: {}, acknowledged: 0, compared: 0 };

  /** Stores the receipt in a response to a write. */
  ledger.receive = ({ audit_entry: entry, change_id, status }) => {
    ledger.acknowledged++;
    if ((receipts[entry.id] ?? entry).current_hash !== entry.current_hash)
      fault("duplicated", `entry ${entry.id} was given to two writes`);
    receipts[entry.id] = entry;
    if (change_id === undefined) return;
    if (RANK[status] > (RANK[statuses.get(change_id)] ?? -1)) statuses.set(change_id, status);
    unchecked.add(change_id);
  };

  /** Applies a new entry to the expected statuses and values. */
  const applyEntry = ({ id, event_type, change_id, tenant, detail }) => {
    eventCounts[event_type] = (eventCounts[event_type] ?? 0) + 1;
    if (!(event_type in STATUS_AFTER_EVENT)) return;
    // The target is read from the proposal; later entries find the change in `changes`.
    const { target } = event_type === "change_proposed" ? JSON.parse(detail) : {};
    const change = changes.get(change_id) ?? { targetKey: JSON.stringify([tenant, target]), logged: new Set() };
    if (change.logged.has(event_type)) fault("duplicated", `entry ${id} records ${event_type} of ${change_id} again`);
    change.logged.add(event_type);
    change.status = STATUS_AFTER_EVENT[event_type];
    changes.set(change_id, change);
    const stack = stacks.get(change.targetKey) ?? [];
    if (event_type === "change_applied") stacks.set(change.targetKey, [...stack, change_id]);
    if (event_type === "change_rolled_back")
      stacks.set(
        change.targetKey,
        stack.filter((other) => other !== change_id),
      );
  };

  /** Reads the entries after the last one that was read, or all, and compares them with the receipts. */
  const readLog = async (url, all) => {
    let after = all ? 0 : Math.max(0, hashes.length - 1);
    for (let next = after; next !== null;) {
      const { body } = await ask(url, `/api/product/audit?limit=1000&after=${next}`);
      for (const entry of body.entries) {
        const { id, current_hash, previous_hash } = entry;
        if (id <= after) fault("duplicated", `entry ${id} comes after entry ${after}`);
        if (id > after + 1) fault("lost", `entry ${after + 1} is missing`);
        if (hashes[after] !== undefined && previous_hash !== hashes[after])
          fault("mismatch", `entry ${id} does not go on from entry ${after}`);
        if ((hashes[id] ?? current_hash) !== current_hash) fault("mismatch", `entry ${id} is another than before`);
        const receipt = receipts[id];
        if (receipt) ledger.compared++;
        for (const field of Object.keys(receipt ?? {}))
          if (receipt[field] !== entry[field]) fault("mismatch", `entry ${id} has another ${field} than its receipt`);
        if (hashes[id] === undefined) applyEntry(entry);
        hashes[id] = current_hash;
        after = id;
      }
      ({ next } = body);
      if (after !== body.length && next === null)
        fault("lost", `the log has ${body.length} entries, and ends at ${after}`);
    }
    if (after + 1 < Math.max(receipts.length, hashes.length))
      fault("lost", `${Math.max(receipts.length, hashes.length) - 1 - after} entries from ${after + 1} on are gone`);
    for (const [name, event] of Object.entries({ propose: "change_proposed", kpi: "kpi_refreshed" }))
      if ((eventCounts[event] ?? 0) > (ledger.requested[name] ?? 0))
        fault("duplicated", `more ${event} than were requested`);
  };

  const checkChain = async (url) => {
    const last = receipts.length - 1;
    const receipt = last > 0 ? `?expected_length=${last}&expected_head=${receipts[last].current_hash}` : "";
    const { body } = await ask(url, `/api/product/audit/verify${receipt}`);
    const { valid, reason, state } = body;
    if (!valid) fault("mismatch", `audit/verify: ${reason} at ${body.first_invalid}`);
    else if (state.mismatched + state.unsettled > 0) fault("mismatch", `audit/verify: ${JSON.stringify(state)}`);
  };

  const checkChange = ({ change_id, status }) => {
    if (!(RANK[status] >= (RANK[statuses.get(change_id)] ?? 0)))
      fault("lost", `${change_id} was ${statuses.get(change_id)} and is ${status}`);
    const logged = changes.get(change_id)?.status;
    if (logged !== status) fault("mismatch", `${change_id} is ${status}, the log says ${logged}`);
  };

  /** Compares the acknowledged changes since the last check, or all changes, with the receipts and the log. */
  const checkChanges = async (url, all) => {
    if (!all) for (const id of unchecked) checkChange((await ask(url, `/api/product/changes/${id}`)).body);
    let count = 0;
    for (let before = ""; all && before !== null;) {
      const { body } = await ask(url, `/api/product/runtime?limit=1000${before && `&before=${before}`}`);
      body.changes.forEach(checkChange);
      count += body.changes.length;
      before = body.next;
    }
    if (all && count < statuses.size) fault("lost", `${statuses.size} changes were acknowledged, ${count} are there`);
    unchecked = new Set();
  };

  /** Requires that the product's file is complete, shows each change as the log does, and has the values of the last applied changes. */
  const checkConfig = async (url, path) => {
    const setTargets = [...stacks].filter(([, stack]) => stack.length > 0);
    const text = await readFile(path, "utf8").catch(() => "{}");
    let config;
    try {
      config = JSON.parse(text);
    } catch (error) {
      return fault("mismatch", `the product's file is no JSON: ${error.message}`);
    }
    const { values = {}, changes: productChanges = {} } = config;
    for (const [id, { state }] of Object.entries(productChanges))
      if (changes.get(id)?.status !== state)
        fault("mismatch", `the product's file shows ${id} as ${state}, the log as ${changes.get(id)?.status}`);
    const valueCount = Object.values(values).reduce((sum, targets) => sum + Object.keys(targets).length, 0);
    if (valueCount !== setTargets.length)
      fault("mismatch", `the product's file holds ${valueCount} values, not ${setTargets.length}`);
    for (const [targetKey, stack] of setTargets) {
      const [tenant, target] = JSON.parse(targetKey);
      const { body } = await ask(url, `/api/product/changes/${stack.at(-1)}`);
      if (JSON.stringify(values[tenant]?.[target]) !== JSON.stringify(body.value))
        fault("mismatch", `the product's file does not hold what ${stack.at(-1)} set`);
    }
  };

  /**
   * Compares the receipts with a service that nobody writes to: `all` begins with the first entry, `chain` also has the service verify
   * its log. With a `configPath` of null the product's file is not compared.
   */
  ledger.check = async (url, configPath, { all, chain }) => {
    await readLog(url, all);
    await checkChanges(url, all);
    if (configPath !== null) await checkConfig(url, configPath);
    if (chain) await checkChain(url);
  };
  return ledger;
}
