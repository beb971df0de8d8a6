import { endpoints } from "../../../handlers/index.ts";
import type { Circumstances } from "../../../lib/openapi/operation.ts";
import { openApiOf } from "../../../lib/openapi/document.ts";

/** The document of every endpoint, under the circumstances of a service. */
export const documentUnder = (circumstances: Circumstances) => openApiOf(endpoints, "1.2.3", circumstances);
