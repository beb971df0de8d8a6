/** Fields for the name of the reader and the admin token. */
import { useValue } from "../core/hooks.tsx";
import { adminToken } from "../core/session.ts";
import { Line } from "./field.tsx";

/** Properties of both fields. */
interface FieldProps {
  value: string;
  onValue: (value: string) => void;
  hint?: string;
  error?: string | undefined;
  first?: boolean;
  required?: boolean;
}

/** A person's name, as it will be recorded with their decisions. */
export const NameField = ({ hint = "Stands in the audit log, and is kept for this browser.", ...rest }: FieldProps) => (
  <Line label="Your name" hint={hint} autocomplete="username" maxLength={200} {...rest} />
);

/** The service's token. */
export const TokenField = ({ hint = "Kept for this tab.", ...rest }: FieldProps) => (
  <Line label="Admin token" hint={hint} type="password" autocomplete="current-password" {...rest} />
);

/** The token of this tab, stored while it is typed. */
export const StoredTokenField = () => (
  <TokenField value={useValue(adminToken)} onValue={(entered) => adminToken.set(entered.trim())} />
);
