/** Manifests of the product `acme-crm`, and the intents that are loaded from them. */
import { portableSha256 } from "../../lib/kit/platform.ts";
import { loadIntent } from "../../lib/changes/rules/intent.ts";

/** The fields of a manifest that a test sets. */
export type Manifest = Record<string, unknown>;

/** Returns a manifest with the four required fields; `fields` adds or replaces some. */
export const manifest = (fields: Manifest = {}): Manifest => ({
  product_id: "acme-crm",
  version: "2026.11",
  approved_by: "head-of-product@acme.example",
  update_epoch: 3,
  ...fields,
});

/** Loads a manifest; returns the intent and its hash. */
export const makeIntent = (fields: Manifest = {}) => loadIntent(JSON.stringify(manifest(fields)), portableSha256);
