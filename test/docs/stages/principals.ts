import type { Requirements } from "./index.ts";

export const principals: Requirements = { needs: ["curl", "openssl"] };
