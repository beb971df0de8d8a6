import { portableSha256 } from "../../lib/kit/platform.ts";
import { loadIntent } from "../../lib/changes/rules/intent.ts";

/** The members of a manifest that a test sets; the rest is valid. */
export type Manifest = Record<string, unknown>;

/** A manifest with the four required fields. */
export const manifest = (over: Manifest = {}): Manifest => ({
  product_id: "acme-crm",
  version: "2026.11",
  approved_by: "head-of-product@acme.example",
  update_epoch: 3,
  ...over,
});

/** A loaded intent and its hash. */
export const makeIntent = (over: Manifest = {}) => loadIntent(JSON.stringify(manifest(over)), portableSha256);
