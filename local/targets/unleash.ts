/** Creates a target system of Unleash: a target is a flag in one environment, and a write is one import. */
import { setTimeout as timer } from "node:timers/promises";
import { type Clock, systemClock } from "../../lib/kit/platform.ts";
import { createKeyedMutex } from "../../lib/kit/keyed_mutex.ts";
import { Unanswered } from "../../lib/kit/time_limit.ts";
import {
  type Attempt,
  type Entry,
  type SetResult,
  TargetRejected,
  type TargetSystem,
  type TargetValue,
} from "../../lib/targets/port.ts";
import { isEqual } from "../../lib/targets/entry.ts";
import { addSplitSupport } from "../../lib/targets/split_support.ts";
import { isObject, type JsonObject } from "./json_object.ts";
import { findUnleashSplitProblem, toUnleashValue } from "./split.ts";
import { findSplitProblem, isRolledOut, readFlag, split } from "./unleash_split.ts";
import { NotSent, unleashApi } from "./unleash_api.ts";
import {
  findSwitchProblem,
  findValueProblem,
  type FlagValue,
  isFlagValue,
  isSameFlag,
  toFlagValue,
} from "./unleash_value.ts";

/** The server, and how an entry becomes the name of a flag. */
export interface UnleashTargetOptions {
  /** Address of the server, with its base path. */
  url: string;
  project: string;
  environment: string;
  /** Personal access token, or one of a service account; an admin token cannot import. */
  token: string;
  clock?: Clock;
  /** The name of the system; `unleash` when absent. */
  name?: string;
  /** Returns the flag's name; the target when absent. */
  flagName?: (entry: Entry) => string;
  fetch?: typeof fetch;
  /** Waits for the archiving of a flag; milliseconds. */
  sleep?: (ms: number) => Promise<unknown>;
}

/** The tag that names the change, and with it the import of an attempt. */
const TAG_TYPE = "countersign";
const TAG_TYPES = [{ name: TAG_TYPE, description: "The change that set the flag", icon: "" }];

/** A request that timed out may still be executed, for example when the database of Unleash recovers. */
const MAX_LATE_MS = 2 * 60_000;

/** Unleash announces events each second, and then records that a flag is archived. */
const MAX_ARCHIVING_MS = 3000;
const ARCHIVING_POLL_MS = 100;

/** Events of a flag that one request reads, newest first. */
const MAX_EVENTS = 100;
const URL_SAFE = /^(?!\.\.?$)[A-Za-z0-9._~-]{1,100}$/;

/** An entry of the event history. */
interface Event {
  id: number;
  type: string;
  environment: string | null;
  groupId?: string;
  data: JsonObject | null;
  preData: JsonObject | null;
}

interface Feature extends JsonObject {
  environments: { name: string; enabled: boolean; strategies: JsonObject[] }[];
}

/** A flag as it was read; `feature` is absent where there is no flag. */
interface FoundFlag {
  /** Id of the newest event of the flag; "0" without events. */
  version: string;
  feature?: Feature;
  enabled: boolean;
  /** With ids. */
  strategies: JsonObject[];
  isArchived: boolean;
}

/** Creates the target system. */
export function unleashTarget(options: UnleashTargetOptions): TargetSystem {
  const { project, environment, clock = systemClock, name = "unleash", flagName = ({ target }) => target } = options;
  const { sleep = timer } = options;
  const api = unleashApi(options);
  const runInOrder = createKeyedMutex();
  const projectPath = `/projects/${encodeURIComponent(project)}/features`;
  // Unleash limits a tag to 50 characters.
  const toTag = ({ change_id, attempt }: Attempt): string => `${change_id.slice(0, 41)}/${attempt.slice(-8)}`;

  const readEvents = async (flag: string, query: string, signal: AbortSignal): Promise<Event[]> =>
    (await api.get<{ events: Event[] }>(`/search/events?feature=IS:${flag}&${query}`, signal))!.events;

  /** Reads the version first: an edit in between is then newer than the version. */
  const findFlag = async (flag: string, signal: AbortSignal): Promise<FoundFlag> => {
    const version = String((await readEvents(flag, "limit=1", signal))[0]?.id ?? 0);
    const feature = await api.get<Feature>(`${projectPath}/${flag}`, signal);
    const state = feature?.environments.find((one) => one.name === environment);
    if (feature && !state) throw new TargetRejected(`the project has no environment ${JSON.stringify(environment)}`);
    if (state) return { version, feature: feature!, ...state, isArchived: false };
    const query = { environment, features: [flag] };
    const exported = await api.read<{ features: JsonObject[] }>("/features-batch/export", query, signal);
    // A flag that the project does not list is archived, or belongs to another project.
    const [elsewhere] = exported.features;
    if (elsewhere && elsewhere["project"] !== project) throw new TargetRejected("the flag is in another project");
    return { version, enabled: false, strategies: [], isArchived: elsewhere !== undefined };
  };

  const toValue = ({ feature, enabled, strategies }: FoundFlag, entry: Entry): unknown => {
    if (!feature) return undefined;
    // A flag that is being rolled out is neither true nor false.
    if (typeof entry.value === "boolean" && !isRolledOut(strategies)) return enabled;
    const value = toFlagValue(enabled, strategies);
    return isFlagValue(entry.value) && isSameFlag(entry.value, value) ? entry.value : value;
  };
  /** Flags of returned values: what can be set on a flag depends on more than its value. */
  const flags = new WeakMap<TargetValue, FoundFlag>();
  const toTargetValue = (found: FoundFlag, entry: Entry): TargetValue => {
    const value = toValue(found, entry);
    const { enabled, strategies } = found;
    const current: TargetValue = {
      version: found.version,
      ...(value !== undefined && { value }),
      ...(typeof value === "boolean" && { raw: JSON.stringify(toFlagValue(enabled, strategies)) }),
    };
    flags.set(current, found);
    return current;
  };

  /** Explains why the value cannot be set on the flag as it is. */
  const findProblem = (found: FoundFlag, value: unknown): string | undefined => {
    if (found.isArchived) return "the flag is archived; revive or delete it in Unleash";
    if (typeof value !== "boolean") return findValueProblem(value);
    if (!found.feature) return "the flag does not exist; propose {enabled, strategies}";
    return value ? findSwitchProblem(found.strategies) : undefined;
  };

  /** Returns the next state of a flag; a switch keeps its strategies, except those of a rollout, which it ends. */
  const toNextFlag = ({ enabled, strategies }: FoundFlag, next: TargetValue): FlagValue => {
    const isCompleteFlag = isFlagValue(next.value) || isRolledOut(strategies);
    const completeFlag = isCompleteFlag ? readFlag(next) : undefined;
    return completeFlag ?? { ...toFlagValue(enabled, strategies), enabled: next.value === true };
  };

  const findSegments = async (strategies: readonly JsonObject[], signal: AbortSignal): Promise<JsonObject[]> => {
    const ids = new Set(strategies.flatMap(({ segments }) => (segments as number[] | undefined) ?? []));
    if (ids.size === 0) return [];
    const { segments } = (await api.get<{ segments: { id: number; name: string }[] }>("/segments", signal))!;
    const namedSegments = segments.filter(({ id }) => ids.has(id)).map(({ id, name }) => ({ id, name }));
    if (namedSegments.length < ids.size) throw new TargetRejected("a strategy names a segment that does not exist");
    return namedSegments;
  };

  const importFlag = async (flag: string, found: FoundFlag, next: FlagValue, tag: string, signal: AbortSignal) => {
    const currentFeature: JsonObject = found.feature ?? {};
    const { type = "release", description = null, stale = false, impressionData = false } = currentFeature;
    const tags = found.feature && (await api.get<{ tags: JsonObject[] }>(`/features/${flag}/tags`, signal))!.tags;
    const others = (tags ?? []).filter((one) => one["type"] !== TAG_TYPE);
    const data = {
      features: [{ name: flag, project, type, description, stale, impressionData }],
      featureEnvironments: [{ name: flag, featureName: flag, environment, enabled: next.enabled, variants: [] }],
      featureStrategies: next.strategies.map((one, sortOrder) => ({ ...one, featureName: flag, sortOrder })),
      featureTags: [...others, { type: TAG_TYPE, value: tag }].map((one) => ({
        featureName: flag,
        tagType: one["type"],
        tagValue: one["value"],
      })),
      tagTypes: TAG_TYPES,
      segments: await findSegments(next.strategies, signal),
      contextFields: [],
    };
    await api.write("POST", "/features-batch/import", { project, environment, data }, signal);
  };

  const isTagged = (tag: string) => (event: Event) =>
    event.type === "feature-tagged" && event.data?.["type"] === TAG_TYPE && event.data["value"] === tag;

  /** Reads the events since a read, oldest first. */
  const readEventsSince = async (flag: string, { version }: FoundFlag, signal: AbortSignal): Promise<Event[]> => {
    const recent = await readEvents(flag, `limit=${MAX_EVENTS}`, signal);
    return recent.filter(({ id }) => id > Number(version)).reverse();
  };

  /** Returns what a write has overwritten: the flag as it was read, with the edits of others since then. */
  const findOverwritten = (found: FoundFlag, foreign: readonly Event[]): { overwrote?: TargetValue } => {
    const edits = foreign.filter((event) => event.environment === environment);
    const edited = edits.reduce(replay, { enabled: found.enabled, strategies: found.strategies });
    const [before, after] = [found, edited].map((one) => toFlagValue(one.enabled, one.strategies));
    if (isSameFlag(before!, after!)) return {};
    return { overwrote: { value: after, version: String(edits.at(-1)!.id) } };
  };

  /** Reads from the history the version of an import, and the edits between its read and the import. */
  const readImport = async (flag: string, found: FoundFlag, tag: string, signal: AbortSignal) => {
    const events = await readEventsSince(flag, found, signal);
    const tagged = events.find(isTagged(tag));
    if (!tagged) return undefined;
    const isOwnImport = ({ groupId }: Event) => groupId === tagged.groupId;
    const last = events.findLast(isOwnImport)!;
    const foreign = events.filter((event) => !isOwnImport(event) && event.id < last.id);
    return { done: true as const, version: String(last.id), ...findOverwritten(found, foreign) };
  };

  /**
   * Waits until Unleash has recorded the stages of an archived flag. It inserts them after its answers, and its process
   * exits if the flag is deleted before that. Servers without a lifecycle, 404, have nothing to wait for.
   */
  const waitForArchiving = async (flag: string, signal: AbortSignal): Promise<void> => {
    for (let waited = 0; waited < MAX_ARCHIVING_MS; waited += ARCHIVING_POLL_MS) {
      const recorded = await api.get<{ stage: string }[]>(`${projectPath}/${flag}/lifecycle`, signal);
      if (!recorded || ["initial", "archived"].every((stage) => recorded.some((one) => one.stage === stage))) return;
      await sleep(ARCHIVING_POLL_MS);
    }
  };

  const removeFlag = async (flag: string, found: FoundFlag, signal: AbortSignal): Promise<SetResult> => {
    const { feature, version } = found;
    if (!feature) return { done: true, version };
    const others = feature.environments.filter((one) => one.name !== environment);
    if (others.some(({ enabled, strategies }) => enabled || strategies.length > 0))
      return { done: false, rejected: "the flag is used in another environment; remove it in Unleash" };
    await api.write("DELETE", `${projectPath}/${flag}`, undefined, signal);
    return finishWrite(async () => {
      const overwritten = findOverwritten(found, await readEventsSince(flag, found, signal));
      await waitForArchiving(flag, signal);
      await api.write("DELETE", `/archive/${flag}`, undefined, signal);
      return { done: true, version: (await findFlag(flag, signal)).version, ...overwritten };
    });
  };

  const system: TargetSystem = {
    name,
    guard: "checked",
    place: (entry) => `unleash ${api.address} ${project}/${environment} ${JSON.stringify(flagName(entry))}`,

    check(entry) {
      if (!URL_SAFE.test(flagName(entry))) return "the flag's name has other characters than A-Z a-z 0-9 . _ ~ -";
      return entry.value === undefined ? undefined : findValueProblem(entry.value);
    },

    read: async (entry, signal) => toTargetValue(await findFlag(flagName(entry), signal), entry),

    checkHeld(entry, current) {
      const found = flags.get(current);
      return found && findProblem(found, entry.value);
    },

    compareAndSet: (entry, next, expected, attempt, signal) =>
      runInOrder(flagName(entry), async (): Promise<SetResult> => {
        const flag = flagName(entry);
        try {
          const found = await findFlag(flag, signal);
          const current = toTargetValue(found, entry);
          // Edits in another environment change the version and not the value.
          if (current.version !== expected.version && !isEqual(current, expected))
            return { done: false, conflict: current };
          if (!next) return await removeFlag(flag, found, signal);
          const rejected = findProblem(found, next.value);
          if (rejected !== undefined) return { done: false, rejected };
          const value = toNextFlag(found, next);
          await importFlag(flag, found, value, toTag(attempt), signal);
          return await finishWrite(async () => {
            const done = await readImport(flag, found, toTag(attempt), signal);
            // An import over a flag that was archived in between does nothing.
            return done ?? { done: false, conflict: toTargetValue(await findFlag(flag, signal), entry) };
          });
        } catch (error) {
          if (error instanceof TargetRejected || error instanceof NotSent)
            return { done: false, rejected: error.message };
          throw error;
        }
      }),

    split,
    findSplitProblem,

    async resolve(entry, attempt, signal) {
      const tag = toTag(attempt);
      const query = `type=IS:feature-tagged&limit=${MAX_EVENTS}&query=${encodeURIComponent(tag)}`;
      if ((await readEvents(flagName(entry), query, signal)).some(isTagged(tag))) return "done";
      if (clock.now() - Date.parse(attempt.at) < MAX_LATE_MS) return "open";
      // A rollback that removes the flag leaves no tag.
      return attempt.operation === "rollback" ? undefined : "not_done";
    },

    async ping(signal) {
      const { user } = (await api.get<{ user: JsonObject }>("/user", signal))!;
      if (user["type"] === "admin") throw new TargetRejected(api.adminToken);
    },
  };
  return addSplitSupport(system, {
    findProblem: findUnleashSplitProblem,
    render: (entry, split) => toUnleashValue(flagName(entry), split),
  });
}

/** Runs the steps after a successful write. Their failure becomes `Unanswered`, since the value is set already. */
const finishWrite = <T>(run: () => Promise<T>): Promise<T> =>
  run().catch((error: unknown) => {
    throw error instanceof Unanswered ? error : new Unanswered("Unleash did not show the result of the write");
  });

/** Applies an event of the history to a flag. */
function replay(
  { enabled, strategies }: { enabled: boolean; strategies: JsonObject[] },
  { type, data, preData }: Event,
) {
  if (type.startsWith("feature-environment-")) return { enabled: type.endsWith("-enabled"), strategies };
  if (!/^feature-strategy-(?:add|update|remove)$/.test(type)) return { enabled, strategies };
  // The event of a removal has its strategy in `preData` only.
  const others = strategies.filter(({ id }) => id !== (data ?? preData)?.["id"]);
  return { enabled, strategies: isObject(data) ? [...others, data] : others };
}
