import type { PeerRow, Peers } from "../../core/api_types.ts";
import { get } from "../../core/api.ts";
import { figure } from "../../core/format.ts";
import { useResource } from "../../core/resource.tsx";
import type { Mark as MarkOf } from "../../domain/statuses.ts";
import { words } from "../../domain/statuses.ts";
import { Mark } from "../../parts/mark.tsx";
import { Pending } from "../../parts/notice.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Given } from "../../parts/text.tsx";
import { Age } from "../../parts/time.tsx";

const STATE: Readonly<Record<PeerRow["state"], MarkOf>> = {
  up: { word: "Up", shape: "full", tone: "good" },
  down: { word: "Down", shape: "cross", tone: "bad" },
  unknown: { word: "Unknown", shape: "ring", tone: "quiet" },
};

/** Who this node exchanges insights with. */
export function PeerTable() {
  const { data, error } = useResource("peers", (signal) => get<Peers>("api/peers", {}, signal));
  return (
    <Panel title="Peers">
      {!data && <Pending error={error} what="peers" />}
      {data && data.peers.length === 0 && (
        <p class="quiet">
          No peer is configured; <code>--cross-link-peers</code> names them.
        </p>
      )}
      {data?.peers.map((peer) => (
        <PeerCard key={peer.address} peer={peer} />
      ))}
      {data && (
        <p class="quiet">
          This is <Given text={data.self.instance_id ?? "an instance without a product"} code />.
        </p>
      )}
    </Panel>
  );
}

const PeerCard = ({ peer }: { peer: PeerRow }) => (
  <article class="peer">
    <p>
      <Mark of={STATE[peer.state]} /> <Given text={peer.instance_id ?? peer.address} />
    </p>
    <Facts
      of={[
        ["Address", <Given text={peer.address} code />],
        ["Relation", peer.relation === null ? "not known yet" : words(peer.relation)],
        ["Trust", peer.trust === null ? "–" : figure(peer.trust)],
        ["Last seen", peer.last_seen_at === null ? "never" : <Age at={peer.last_seen_at} />],
        ["Round trip", peer.rtt_ms === null ? "–" : `${figure(peer.rtt_ms)} ms`],
        ["Its log", words(peer.log ?? "unknown")],
      ]}
    />
  </article>
);
