/** The health of the service, its reports and its internals; links to mandates and to the reader's keys. */
import { useEffect } from "preact/hooks";
import type { Capability, CapabilityMap, EvolvedFile } from "../core/api_types.ts";
import { clockBehind, get, getText, ServiceError } from "../core/api.ts";
import { shortenHash, shortenId, formatBytes, formatCount } from "../core/format.ts";
import { useTitle } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import { href } from "../core/router.tsx";
import { useCapabilities, useIntent, useServiceState } from "../core/shared.ts";
import { type Badge, formatTitle } from "../domain/statuses.ts";
import { Disclosure, PageHead, Panel, ReadPanel } from "../parts/panel.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import { Failure, Pending, RuntimeOff } from "../parts/notice.tsx";
import { Code, UserText } from "../parts/text.tsx";
import { Age } from "../parts/time.tsx";
import { Actions, Figures, PeerTable } from "./settings/internals.tsx";

export function SettingsPage() {
  const { data: state, error } = useServiceState();
  const { data: map } = useCapabilities();
  const { data: intent } = useIntent();
  useTitle("Settings");
  useEffect(checkClock, []);
  const off = map?.capabilities.some(({ id, status }) => id === "product_runtime" && status === "disabled");
  return (
    <>
      <PageHead title="Settings">
        {intent?.policy?.mandates && (
          <a class="button secondary" href={href(["mandates"])}>
            Mandates
          </a>
        )}
        <a class="button secondary" href={href(["you"])}>
          Your keys
        </a>
      </PageHead>
      {off && <RuntimeOff />}
      {error !== undefined && state && <Failure error={error} />}
      {!state || !map ? (
        <Pending error={error} what="the state" />
      ) : (
        <div class="columns">
          <div>
            <Health map={map} />
          </div>
          <div>
            <Figures state={state} />
            <Reports />
            <PeerTable />
            <Actions />
          </div>
        </div>
      )}
    </>
  );
}

const CAPABILITY_BADGES: Readonly<Record<Capability["status"], Badge>> = {
  available: { word: "Available", shape: "check", tone: "good" },
  degraded: { word: "Degraded", shape: "half", tone: "warn" },
  disabled: { word: "Off", shape: "ring", tone: "quiet" },
  failing: { word: "Failing", shape: "bang", tone: "bad" },
};

/** The failing parts of the service, and folded the working ones and those that are off. */
function Health({ map: { capabilities } }: { map: CapabilityMap }) {
  const filterByStatus = (...statuses: Capability["status"][]) =>
    capabilities.filter(({ status }) => statuses.includes(status));
  const [failing, available, disabled] = [
    filterByStatus("failing", "degraded"),
    filterByStatus("available"),
    filterByStatus("disabled"),
  ];
  return (
    <Panel title="Health">
      {failing.length === 0 ? <p>Nothing fails.</p> : <Capabilities of={failing} />}
      <details>
        <summary>{formatCount(available.length, "part works", "parts work")}</summary>
        <Capabilities of={available} />
      </details>
      <details>
        <summary>{formatCount(disabled.length, "part is off", "parts are off")}</summary>
        <Capabilities of={disabled} />
      </details>
    </Panel>
  );
}

const Capabilities = ({ of }: { of: readonly Capability[] }) => (
  <ul class="plain capabilities">
    {of.map(({ id, status, reason, enable_with }) => (
      <li key={id}>
        <StatusBadge of={CAPABILITY_BADGES[status]} />
        <div>
          <strong>{formatTitle(id)}</strong>
          {reason !== null && (
            <p class="quiet">
              <UserText text={reason} />
              {enable_with !== null && "; switched on with "}
              {/* Every second part is the separator: " or ", or undefined for the space before an option. */}
              {enable_with
                ?.split(/( or )| (?=--)/)
                .map((part = " ", index) => (index % 2 === 1 ? part : <code key={part}>{part}</code>))}
            </p>
          )}
        </div>
      </li>
    ))}
  </ul>
);

/** The retrospectives and weekly reports of the service, as text. */
const Reports = () => (
  <ReadPanel<{ files: EvolvedFile[] }> title="Reports" path="evolved">
    {({ files }) =>
      files.length === 0 ? (
        <p class="quiet">None yet. A closed change leaves a retrospective.</p>
      ) : (
        <div class="files">
          {files.map((file) => (
            <Disclosure
              key={file.name}
              summary={
                <>
                  <UserText text={file.name.replace(/chg_[^.]+/, shortenId)} />{" "}
                  <span class="quiet">
                    {formatBytes(file.bytes)}, <Age at={file.modified_at} />
                  </span>
                </>
              }
            >
              {() => <Report file={file} />}
            </Disclosure>
          ))}
        </div>
      )
    }
  </ReadPanel>
);

function Report({ file: { name, sha256 } }: { file: EvolvedFile }) {
  const read = (signal: AbortSignal) => getText(`api/evolved/${encodeURIComponent(name)}`, {}, signal);
  const { data, error } = useResource(`evolved ${name} ${sha256}`, read, { concerns: () => false });
  return (
    <>
      {data === undefined ? <Pending error={error} what="the report" /> : <Code label={name}>{data}</Code>}
      <p class="quiet">
        SHA-256 <code title={sha256}>{shortenHash(sha256)}</code>
      </p>
    </>
  );
}

interface Checks {
  clock?: { ok: boolean };
}

/** Checks the clock against the log, so that the page warns before a write is rejected. */
function checkClock(): () => void {
  const controller = new AbortController();
  const report = (checks: Checks | undefined): void => void (checks?.clock && clockBehind.set(!checks.clock.ok));
  get<{ checks: Checks }>("readyz", {}, controller.signal).then(
    ({ checks }) => report(checks),
    (error: unknown) => report(error instanceof ServiceError ? (error.body["checks"] as Checks) : undefined),
  );
  return () => controller.abort();
}
