// targets.ts
import { countersign, targetAdapter } from "countersign";
import { fileStore, flagdTarget, gitTarget } from "countersign/node";

const store = await fileStore({ path: "data/state.json" });
const flags = flagdTarget({ path: "flags.flagd.json", flagKey: ({ target }) => target.slice("flags/".length) });
const repository = gitTarget({
  url: "ssh://git@acme.example/app.git",
  branch: "main",
  path: ({ target }) => `${target.slice("repo/".length)}.json`,
  folder: "data/clone",
});
export const service = await countersign({
  store,
  intent: { product_id: "acme-crm", version: "2026.11", approved_by: "ana@acme.example", update_epoch: 1 },
  targets: [
    { name: "flags", match: ["flags/*"], tenants: ["acme"], adapter: targetAdapter(flags, { store }) },
    { name: "repo", match: ["repo/*"], tenants: ["acme"], adapter: targetAdapter(repository, { store }) },
  ],
});
