import type { Own } from "./index.ts";

export const principals: Own = { needs: ["curl", "openssl"] };
