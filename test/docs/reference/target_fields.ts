/**
 * Fields of each type of target system other than `name`, `type`, `match`, `kinds` and `tenants`, for the tables of docs/targets,
 * which test/docs/reference.test.ts generates from this file.
 */

/** Sentences of Markdown by type and field. */
export const FIELD_REFERENCE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  file: { path: "Path of the file; the first write creates it." },
  flagd: {
    file: "Path of the JSON file; it must exist.",
    key: "Template of the flag's key; `{rest}` by default.",
  },
  unleash: {
    url: "Address of the server, with its base path.",
    project: "Id of the project; `default` by default.",
    environment: "Name of the environment; list one system for each environment.",
    token_env: "Variable with the token.",
    key: "Template of the flag's name, `{rest}` by default; A-Z a-z 0-9 `.` `_` `~` `-` only, up to 100.",
  },
  postgres: {
    url_env:
      "Variable with `postgres://user:password@host:port/database`. `sslmode` and other parameters of the driver work.",
    table: "`schema.table`, spelled as the database has it; without a schema it is in `public`.",
    key_column: "Column with the key. It needs a unique index of its own, without a condition.",
    value_column: "Column with the value.",
    key: "Template of the key of a target; `{rest}` by default.",
  },
  etcd: {
    url: "A client address, `http://host:port` or `https://host:port`, without a path, a user or a password.",
    key: "Template of the key of a target; `{rest}` by default. The text before the first `{` is the prefix (`/app/`).",
    user_env: "Variable with the user; omit it if etcd has no authentication.",
    password_env: "Variable with the password.",
  },
  git: {
    url: "Address of the repository without a password: `ssh`, `https`, `file:///…` or an absolute path.",
    branch: "The branch; it must exist.",
    path: "Template of the path of a target's file, such as `config/{rest}.json`.",
    ssh_key_file: "Deploy key of an `ssh` address.",
    known_hosts_file: "Known hosts file of an `ssh` address.",
    token_env: "Variable with the token of an `https` address, as `user:token` or `token`.",
    signing_key_file: "SSH key that signs the commits; absent: they are not signed.",
  },
  webhook: {
    url: "`https` address; `http` on the same machine only. The log shows its origin.",
    secret_env: "Variable with the secret that signs the requests.",
  },
};

/** Sentences of Markdown by field of `github`, a member of a gate. */
export const GITHUB_FIELDS: Readonly<Record<string, string>> = {
  app_id: "The App ID.",
  key_file: "The file with the App's private key from GitHub; relative to the folder of the targets file.",
  secret_env: "The variable with the webhook's secret. A variable of that name with `_FILE` names a file instead.",
  api: "`https://api.github.com`, or the address of a GitHub Enterprise Server with the path `api/v3`.",
};
