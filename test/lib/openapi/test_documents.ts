/** OpenAPI documents of all endpoints, for tests. */
import { endpoints } from "../../../handlers/index.ts";
import type { DocumentConfig } from "../../../lib/openapi/operation.ts";
import { makeOpenApi } from "../../../lib/openapi/document.ts";
import { removeFieldExamples, shareParts } from "../../../lib/openapi/shared_parts.ts";

/** Builds the document of all endpoints in the circumstances of a service, without shared parts. */
export const makeTestDocument = (circumstances: DocumentConfig) => makeOpenApi(endpoints, "1.2.3", circumstances);

/** Builds the document as it is served: operations share equal parts. */
export const buildServedDocument = (circumstances: DocumentConfig) =>
  removeFieldExamples(shareParts(makeTestDocument(circumstances)));
