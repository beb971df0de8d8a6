// one_service.ts
import { countersign, type Service, type ServiceOptions } from "countersign";

const kept = globalThis as { service?: Promise<Service> };

/** The service of this process, opened by the first call. */
export const oneService = (options: ServiceOptions): Promise<Service> => (kept.service ??= countersign(options));
