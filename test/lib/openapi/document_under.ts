import { endpoints } from "../../../handlers/index.ts";
import type { DocumentConfig } from "../../../lib/openapi/operation.ts";
import { makeOpenApi } from "../../../lib/openapi/document.ts";
import { removeFieldExamples, shareParts } from "../../../lib/openapi/shared_parts.ts";

/** The document of every endpoint, under the circumstances of a service, with every part in its place. */
export const makeTestDocument = (circumstances: DocumentConfig) => makeOpenApi(endpoints, "1.2.3", circumstances);

/** The same as it is served: what operations have alike is said once. */
export const buildServedDocument = (circumstances: DocumentConfig) =>
  removeFieldExamples(shareParts(makeTestDocument(circumstances)));
