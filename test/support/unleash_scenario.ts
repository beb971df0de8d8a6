/** Unleash as the target system of random scenarios, in which other people edit its flags during an import. */
import { unleashTarget } from "../../local/targets/unleash.ts";
import type { Entry } from "../../lib/targets/port.ts";
import type { CutProxy } from "./cut_proxy.ts";
import type { TargetScenario } from "./target_scenarios.ts";
import type { UnleashServer } from "./unleash.ts";

const ENVIRONMENT = "development";
const FEATURES = "/api/admin/projects/default/features";

interface FlagValue {
  enabled: boolean;
  strategies: { name: string; parameters: Record<string, string> }[];
}

const toFlag = (number: number): FlagValue => ({
  enabled: number % 3 !== 0,
  strategies: [
    {
      name: "flexibleRollout",
      parameters: { rollout: String(number % 101), stickiness: "userId", groupId: `group-${number}` },
    },
  ],
});

/** Makes the flags of one scenario; `proxy` in front of the server loses requests and answers. */
export async function unleashScenario(
  server: UnleashServer,
  proxy: CutProxy,
  entries: readonly Entry[],
): Promise<TargetScenario> {
  const flagName = ({ tenant_id, target }: Entry): string => `${tenant_id}.${target}`;
  const featureUrl = (entry: Entry): string => `${FEATURES}/${flagName(entry)}`;
  const environmentUrl = (entry: Entry): string => `${featureUrl(entry)}/environments/${ENVIRONMENT}`;

  const read = async (entry: Entry): Promise<(FlagValue & { ids: string[] }) | undefined> => {
    const { features } = await server.call("POST", "/api/admin/features-batch/export", {
      environment: ENVIRONMENT,
      features: [flagName(entry)],
    });
    if (features.length === 0) return undefined;
    const { enabled, strategies } = await server.call("GET", environmentUrl(entry));
    return {
      enabled,
      strategies: strategies.map(({ name, parameters }: FlagValue["strategies"][number]) => ({ name, parameters })),
      ids: strategies.map(({ id }: { id: string }) => id),
    };
  };

  const edit = async (entry: Entry, value: unknown): Promise<void> => {
    const current = await read(entry);
    const path = environmentUrl(entry);
    if (value === undefined) {
      if (!current) return;
      return server.removeFlag(flagName(entry));
    }
    const { enabled, strategies } = value as FlagValue;
    if (!current) await server.call("POST", FEATURES, { name: flagName(entry) });
    const [id] = current?.ids ?? [];
    if (id === undefined) await server.call("POST", `${path}/strategies`, strategies[0]);
    else await server.call("PUT", `${path}/strategies/${id}`, strategies[0]);
    if ((current?.enabled ?? false) !== enabled) await server.call("POST", `${path}/${enabled ? "on" : "off"}`);
  };

  /** Runs once, right before the request that writes. */
  let beforeWrite: (() => Promise<void>) | undefined;
  const isWrite = (url: string, method: string | undefined): boolean =>
    url.endsWith("/import") || (method === "DELETE" && url.includes("/projects/"));

  return {
    open: (clock) =>
      unleashTarget({
        url: `http://${proxy.host}/`,
        token: server.token,
        project: "default",
        environment: ENVIRONMENT,
        clock,
        flagName,
        async fetch(url, init) {
          const runEdit = beforeWrite;
          if (runEdit && isWrite(String(url), init?.method)) {
            beforeWrite = undefined;
            await runEdit();
          }
          return fetch(url, init);
        },
      }),
    entries,
    value: toFlag,
    async read(entry) {
      const current = await read(entry);
      return current && { enabled: current.enabled, strategies: current.strategies };
    },
    edit,
    editBetween(entry, value) {
      let hasWritten = false;
      beforeWrite = async () => {
        hasWritten = true;
        await edit(entry, value);
      };
      return () => {
        beforeWrite = undefined;
        return hasWritten;
      };
    },
    lose(loss) {
      void proxy.lose(loss, "/features-batch/import");
      return () => void proxy.lose(loss, "a text that is never sent");
    },
    // MAX_LATE_MS of the target system: until then a lost request counts as open.
    maxLateMs: 2 * 60_000,
  };
}
