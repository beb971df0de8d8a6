/** Creates a target system of the product config file, a JSON file that the host product reads or watches. */
import * as nodeFiles from "node:fs/promises";
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import type { Clock } from "../../lib/kit/platform.ts";
import type { ProductAdapter } from "../../lib/changes/operations/adapter_port.ts";
import { formatOperandId } from "../../lib/changes/rules/operands.ts";
import { normalizeTarget } from "../../lib/changes/rules/target_key.ts";
import type { Store } from "../../lib/store/store.ts";
import { targetAdapter } from "../../lib/targets/adapter.ts";
import type { TargetReports } from "../../lib/targets/observe_system.ts";
import type { AttemptContext, Entry, SetManyResult, TargetSystem, TargetValue, Write } from "../../lib/targets/port.ts";
import { makeCompareAndSet } from "../../lib/targets/compare_and_set.ts";
import { sha256 } from "../node_ports.ts";
import type { Files } from "./atomic_file.ts";
import { FileUnusable } from "./file_error.ts";
import { isObject, type JsonObject, getOwn, setOwn } from "./json_object.ts";
import { type ChangeState, type Config, isOwner, parseConfig, pruneChanges, renderConfig } from "./product_config.ts";
import { type Edit, openTextFile } from "./text_file.ts";

declare module "../../lib/store/store.ts" {
  interface Collections {
    file_tenants: { made: boolean };
  }
}

/** The file, and dependencies of the target system. */
export interface FileTargetOptions {
  /** The name of the system; `file` when absent. */
  name?: string;
  /** The configured path, which names the target, so that a restored copy in another folder has the same targets. `path` when absent. */
  shownPath?: string;
  /** The config file; a missing folder is made by the first write. */
  path: string;
  /** Records for which tenants the service created the object in the file. */
  store: Store;
  product_id: string;
  instance_id: string;
  clock: Clock;
  /** The file system; Node's own when absent. */
  files?: Files;
}

const ABSENT: TargetValue = { version: "absent" };

/** Creates an adapter that writes changes to the file. */
export const fileAdapter = (options: FileTargetOptions & TargetReports): ProductAdapter =>
  targetAdapter(fileTarget(options), { ...options, sha256 });

/** Creates the target system. Existing keys keep their spelling. */
export function fileTarget(options: FileTargetOptions): TargetSystem {
  const { name = "file", store, product_id, instance_id, clock, files = nodeFiles } = options;
  const { path, shownPath = path } = options;
  const file = openTextFile({ path, noun: "product config file", files, clock });

  const parse = (text: string | undefined): Config => {
    const config = parseConfig(text);
    if (config.product_id !== undefined && config.product_id !== product_id)
      throw new FileUnusable(`belongs to another product than ${product_id}`);
    return config;
  };

  // A drift check reads the same text for each change, so reads share one parsed copy.
  let cached: { text: string | undefined; config: Config } | undefined;
  const parseToRead = (text: string | undefined): Config => {
    if (!cached || cached.text !== text) cached = { text, config: parse(text) };
    return cached.config;
  };

  const render = (config: Config, { change_id, operation }: AttemptContext): string => {
    const state = operation === "rollback" ? "rolled_back" : "applied";
    const updated_at = new Date(clock.now()).toISOString();
    return renderConfig(config, { product_id, instance_id, change_id, state, updated_at });
  };

  const isServiceMade = async (tenant_id: string) => (await store.get("file_tenants", tenant_id))?.value.made ?? false;
  const recordMade = (tenant_id: string, made: boolean) =>
    store.transact((tx) => tx.put("file_tenants", tenant_id, { made }));

  /** Sets or removes a value. An empty object of a tenant is removed if the service made it, and stays if another program did. */
  const setValue = async (config: Config, { tenant_id, target }: Entry, next: TargetValue | undefined) => {
    const presentValues = readTenantValues(config, tenant_id);
    const values = presentValues ?? {};
    const key = findKey(values, target) ?? target;
    const isEmpty = Object.keys(values).length === 0;
    if (next?.value === undefined) delete values[key];
    else setOwn<unknown>(values, key, next.value);
    // The write creates the tenant's object if there is none. The service removes its own empty object, so one that is present
    // belongs to another program, even if the service made an earlier one.
    if (next?.value !== undefined && isEmpty && (!presentValues || (await isServiceMade(tenant_id))))
      await recordMade(tenant_id, !presentValues);
    if (Object.keys(values).length > 0) setOwn<unknown>(config.values, tenant_id, values);
    else if (presentValues && (await isServiceMade(tenant_id))) delete config.values[tenant_id];
  };

  const renderEdit = (config: Config, operations: readonly Pick<Write, "entry" | "attempt">[]): string => {
    for (const { entry, attempt } of operations) recordChange(config, entry, attempt);
    pruneChanges(config.changes);
    return render(config, operations[0]!.attempt);
  };

  const setMany = (writes: readonly Write[], signal: AbortSignal): Promise<SetManyResult> =>
    file.edit(async (text): Promise<Edit<SetManyResult>> => {
      const config = parse(text);
      for (const [index, { entry, expected }] of writes.entries()) {
        const current = readValue(config, entry);
        if (current.version !== expected.version) return { result: { done: false, index, conflict: current } };
      }
      for (const { entry, next } of writes) await setValue(config, entry, next);
      const versions = writes.map(({ entry }) => readValue(config, entry).version);
      return { text: renderEdit(config, writes), result: { done: true, versions } };
    }, signal);

  return {
    name,
    guard: "checked",
    check: () => undefined,
    place: ({ tenant_id, target }) => `file ${shownPath} ${JSON.stringify([tenant_id, normalizeTarget(target)])}`,

    read: (entry, signal) => file.read((text) => structuredClone(readValue(parseToRead(text), entry)), signal),

    setMany,
    compareAndSet: makeCompareAndSet(setMany),

    note: (entry, attempt, signal) =>
      file.edit((text) => ({ text: renderEdit(parse(text), [{ entry, attempt }]), result: undefined }), signal),

    resolve: (_, attempt, signal) =>
      file.read((text) => {
        const { operation } = attempt;
        // The file shows the change as applied before and after a restore, so only the value shows the result.
        if (operation === "restore") return undefined;
        const state = getOwn(parseToRead(text).changes, formatOperandId(attempt))?.state;
        return state === (operation === "rollback" ? "rolled_back" : "applied") ? "done" : "not_done";
      }, signal),

    removeLeftovers: file.removeLeftovers,

    async probe() {
      await file.read(parseToRead);
      await file.checkFolder();
    },
  };
}

function readTenantValues(config: Config, tenant_id: string): JsonObject | undefined {
  const values = getOwn(config.values, tenant_id);
  if (values !== undefined && !isObject(values))
    throw new FileUnusable(`values[${JSON.stringify(tenant_id)}] is not an object`);
  return values;
}

/** Finds a target's key in its existing spelling. */
const findKey = (values: JsonObject, target: string): string | undefined =>
  Object.keys(values).find((name) => normalizeTarget(name) === normalizeTarget(target));

function readValue(config: Config, { tenant_id, target }: Entry): TargetValue {
  const values = readTenantValues(config, tenant_id) ?? {};
  const key = findKey(values, target);
  if (key === undefined) return ABSENT;
  const value = getOwn(values, key);
  return { value, version: sha256(canonicalJson(value)) };
}

/** Records the state of a change as the newest of `changes`. */
function recordChange(config: Config, { tenant_id, target, kind }: Entry, attempt: AttemptContext): void {
  const { operation, at, replaced, superseded_by } = attempt;
  const change_id = formatOperandId(attempt);
  const { changes } = config;
  const spelledTarget = findKey(readTenantValues(config, tenant_id) ?? {}, target) ?? target;
  const { superseded_by: _, ...recorded } = getOwn(changes, change_id) ?? {};
  const identity = { kind, target: spelledTarget, tenant_id };
  if (operation === "rollback") {
    // The changes that this one superseded are now superseded by the later change.
    if (superseded_by !== undefined)
      for (const other of Object.values(changes))
        if (other.superseded_by === change_id) other.superseded_by = superseded_by;
    // Without a later change, the replaced one owns the target again.
    if (replaced && superseded_by === undefined) {
      const { superseded_by: __, ...earlier } = getOwn(changes, replaced.change_id) ?? {};
      const owner: ChangeState = { ...identity, kind: replaced.kind, state: "applied", at: replaced.at, ...earlier };
      setOwn(changes, replaced.change_id, owner);
    }
  } else if (replaced) {
    const earlier = getOwn(changes, replaced.change_id);
    if (earlier && isOwner(earlier)) earlier.superseded_by = change_id;
  }
  delete changes[change_id];
  const state = operation === "rollback" ? "rolled_back" : "applied";
  setOwn(changes, change_id, {
    ...recorded,
    ...identity,
    state,
    at,
    ...(superseded_by !== undefined && { superseded_by }),
  });
}
