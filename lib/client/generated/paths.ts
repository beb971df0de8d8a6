/** Made from the OpenAPI document by .ci/build/client_types.mjs; `npm run client:types` writes it again. */

/** Requests and answers of the service, by path and method, as `openapi-fetch` reads it; errors are thrown. */
export interface paths {
  "/api/product/runtime": {
    /** Changes and audit state
     *
     * A page of changes, newest first, with identity, intent and the newest audit entries. */
    get: {
      parameters: {
        query?: {
          /** Only changes older than this id: `next` of the previous page. */
          before?: string | undefined;

          /** Maximum number of changes. */
          limit?: number | undefined;

          /** Only changes of this status. */
          status?: "proposed" | "pending_consent" | "approved" | "applied" | "rolled_back" | "denied" | undefined;

          /** Only changes of this tenant. */
          tenant_id?: string | undefined;

          /** Maximum number of the newest audit entries. */
          entries?: number | undefined;

          /** Only changes that this person has to do with, as role says. */
          person?: string | undefined;

          /** Role of the person; either: any. Absent: either. */
          role?: "proposer" | "asker" | "approver" | "denier" | "decider" | "either" | undefined;

          /** Only changes of this kind of proposer. */
          proposer_kind?: "person" | "agent" | "model" | "peer" | "unknown" | undefined;

          /** Only changes of this kind. */
          kind?: "config" | "workflow" | "feature_flag" | "code_patch" | "experiment" | undefined;

          /** Only changes of this target; * stands for any characters. */
          target?: string | undefined;

          /** Only changes of this risk. */
          risk?: "low" | "medium" | "high" | undefined;

          /** Only changes of this tier. */
          tier?: "minor" | "standard" | "major" | undefined;

          /** Only changes that name this KPI. */
          kpi?: string | undefined;

          /** Only denied changes that ended so. */
          resolution?: "denied" | "withdrawn" | "expired" | "revoked" | "lapsed" | undefined;

          /** Only changes whose outcome has this verdict. */
          verdict?: "met" | "missed" | "regressed" | "inconclusive" | "too_early" | undefined;

          /** True: only drifted changes; false: only others. */
          drifted?: boolean | undefined;

          /** Only changes approved in an emergency, or only others. */
          emergency?: boolean | undefined;

          /** Beginnings of words in its texts or names, or an id. */
          text?: string | undefined;

          /** Event of from and to. Absent: proposed. */
          event?:
            | "proposed"
            | "consented"
            | "decided"
            | "approved"
            | "denied"
            | "applied"
            | "rolled_back"
            | "closed"
            | undefined;

          /** Only changes to which that happened then or later. */
          from?: string | undefined;

          /** Only changes to which it happened before. */
          to?: string | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              identity: components["schemas"]["ProductInstanceIdentity"];
              intent: components["schemas"]["ProductIntent"];

              /** Changes, newest first. */
              changes: components["schemas"]["Change"][];

              /** Number of changes that match the filters. */
              total: number;

              /** `before` for the next page; null on the last page. */
              next: string | null;

              /** The end of the audit log. */
              audit: {
                /** Name of the log. */
                origin: string;

                /** Number of entries in the log. */
                length: number;

                /** current_hash of the last entry; empty without entries. */
                head: string;

                /** The newest entries, in chain order. */
                entries: components["schemas"]["AuditEntry"][];
              };
            };
          };
        };
      };
    };
  };
  "/api/product/audit": {
    /** Audit entries
     *
     * A page of the audit log; format=jsonl or csv gives the whole log. */
    get: {
      parameters: {
        query?: {
          /** Maximum number of entries. */
          limit?: number | undefined;

          /** Only entries before this id. */
          before?: number | undefined;

          /** Only entries after this id. */
          after?: number | undefined;

          /** asc: in the order of the chain; desc: newest first. A page without after is the newest. */
          order?: "asc" | "desc" | undefined;

          /** Only entries about this change. */
          change_id?: string | undefined;

          /** Only entries about changes of this tenant. */
          tenant_id?: string | undefined;

          /** Another name of tenant_id. */
          tenant?: string | undefined;

          /** Only entries of this event. */
          event_type?:
            | "kpi_refreshed"
            | "change_proposed"
            | "consent_decision"
            | "change_applied"
            | "change_rolled_back"
            | "change_apply_failed"
            | "change_rollback_failed"
            | "change_drifted"
            | "proposal_refused"
            | "intent_in_force"
            | "emergency_reviewed"
            | "service_frozen"
            | "service_unfrozen"
            | "record_rebuilt"
            | "clock_accepted"
            | "content_erased"
            | "note_added"
            | "store_moved"
            | "loss_accepted"
            | "targets_in_force"
            | "value_restored"
            | "automation_stopped"
            | "stage_advanced"
            | "stage_held"
            | "stage_resumed"
            | "stage_stopped"
            | "release_checked"
            | "mandate_signed"
            | "mandate_narrowed"
            | "mandate_suspended"
            | "mandate_resumed"
            | "mandate_ended"
            | undefined;

          /** jsonl or csv: the whole log as a file, without any filter. */
          format?: "json" | "jsonl" | "csv" | undefined;

          /** With format=jsonl: contents and manifests too. */
          contents?: boolean | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** The page. */
              entries: components["schemas"]["AuditEntry"][];

              /** before or after of the next page; null at the end. */
              next: number | null;

              /** Number of entries in the log. */
              length: number;

              /** current_hash of the last entry; empty without entries. */
              head: string;

              /** Name of the log. */
              origin: string;
            };
            "application/x-ndjson": string;
            "text/csv": string;
          };
        };
      };
    };
  };
  "/api/product/audit/verify": {
    /** Verify the audit chain
     *
     * Recomputes the chain and compares stored changes with it; an earlier head also shows rewriting. */
    get: {
      parameters: {
        query?: {
          /** Number of entries at your last check. */
          expected_length?: number | undefined;

          /** current_hash of the last entry at your last check, hex. */
          expected_head?: string | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** True if no fault was found. */
              valid: boolean;

              /** Number of entries now. */
              length: number;

              /** current_hash of the last entry; 64 zeros without entries. */
              head: string;

              /** Id of the first invalid entry; null if all are valid. */
              first_invalid: number | null;

              /** The fault; null if none. */
              reason: string | null;

              /** Losses of the log's end that were accepted, oldest first. */
              losses: {
                /** Id of the entry loss_accepted. */
                entry: number;

                /** Time of the acceptance. */
                at: string;

                /** The person who accepted it. */
                actor: string;

                /** Note of that person. */
                note: string;

                /** The known end of the log before; head is null if unknown. */
                known: {
                  /** Number of entries in the log. */
                  length: number;

                  /** current_hash of the last entry. */
                  head: string | null;
                };

                /** The end after which the log continues. */
                continues: {
                  /** Number of entries in the log. */
                  length: number;

                  /** current_hash of the last entry. */
                  head: string;
                };

                /** The possible loss. */
                message: string;
              }[];

              /** Faults that this answer cannot exclude: the first two without a stored length and head, the third if the chain is broken. */
              not_checked: ("tail_truncation" | "full_rewrite" | "state_mismatch")[];

              /** Stored changes compared with the log; null if the chain is broken. */
              state: {
                /** Number of compared changes. */
                compared: number;

                /** Number of changes that differ. */
                mismatched: number;

                /** The first few that differ. */
                mismatches: {
                  /** The change. */
                  change_id: string;

                  /** Names of the fields that differ. */
                  fields: string[];
                }[];

                /** Number of changes not compared because an operation runs. */
                unsettled: number;
              } | null;
            };
          };
        };
      };
    };
  };
  "/api/product/audit/checkpoint": {
    /** Checkpoint of the audit log
     *
     * Length and Merkle root as a C2SP checkpoint. Accept: text/plain returns the signed note. */
    get: {
      parameters: {
        query?: {
          /** The newest cosigned checkpoint instead of the current one. */
          cosigned?: boolean | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** C2SP tlog-checkpoint in a signed note. */
              checkpoint: string;

              /** Name of the log. */
              origin: string;

              /** Number of entries in the checkpoint. */
              length: number;

              /** Root of the Merkle tree over them, base64. */
              root: string;

              /** True if the log signed it. */
              signed: boolean;

              /** Verifier key of the log; null when not signed. */
              key: string | null;

              /** Time of the checkpoint. */
              at: string;

              /** Last checkpoint of each witness. */
              witnesses: {
                /** The witness. */
                name: string;

                /** Number of entries in it. */
                length: number;

                /** Time by the witness's clock; null before the first one. */
                at: string | null;
              }[];
            };
            "text/plain": string;
          };
        };
      };
    };
  };
  "/api/product/audit/proof": {
    /** Inclusion or consistency proof of the audit log
     *
     * With id: a Merkle proof of that entry. With from: a proof that the log only grew. */
    get: {
      parameters: {
        query?: {
          /** Entry to prove; instead of from. */
          id?: number | undefined;

          /** Earlier length that the log is proved to continue; instead of id. */
          from?: number | undefined;

          /** Length of the log that the proof is for; absent: now. */
          length?: number | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Kind of proof. */
              kind: "inclusion" | "consistency";

              /** For an inclusion proof: the entry. */
              id?: number;

              /** For an inclusion proof: current_hash of the entry, the leaf of the tree. */
              leaf?: string;

              /** For a consistency proof: the earlier length. */
              from?: number;

              /** For a consistency proof: root, base64. */
              from_root?: string;

              /** Length of the log that is proved. */
              length: number;

              /** Root of the log, base64. */
              root: string;

              /** Hashes of the proof (RFC 6962), base64. */
              proof: string[];

              /** Checkpoint of that length; null when the newest is of another. */
              checkpoint: string | null;
            };
          };
        };
      };
    };
  };
  "/api/product/audit/accept-clock": {
    /** Accept the current clock
     *
     * After a clock ran ahead: the next entry gets the clock's earlier time. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody?: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Actor; absent: the proxy's person. */
            actor?: string | undefined;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": {
              /** Time of the new entry, RFC 3339. */
              at: string;

              /** Time of the entry before it. */
              last: string;
              audit_entry: components["schemas"]["AuditEntry"];
            };
          };
        };
      };
    };
  };
  "/api/product/audit/accept-loss": {
    /** Accept that the log lost its end
     *
     * Accepts entries lost in a failover, and freezes the service. Earlier consents no longer count. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Actor; absent: the proxy's person. */
            actor?: string | undefined;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;

            /** Number of entries of the log now, from audit/verify. */
            length: number;

            /** current_hash of the last entry now, hex; 64 zeros for an empty log. */
            head: string;
          }
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": {
              /** The known end of the log before the loss. */
              known: {
                /** Number of entries that the log had. */
                length: number;

                /** current_hash of its last entry; empty: only an anchor reported that end; null: unknown. */
                head: string | null;
              };

              /** Number of entries of the log now. */
              length: number;

              /** current_hash of the last entry now, hex; 64 zeros for an empty log. */
              head: string;

              /** The service is frozen until a person unfreezes it. */
              frozen: true;
              audit_entry: components["schemas"]["AuditEntry"];
            };
          };
        };
      };
    };
  };
  "/api/product/intent": {
    /** The product intent in force
     *
     * The intent that governs this instance, with its target systems. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: { 200: { content: { "application/json": components["schemas"]["ProductIntent"] } } };
    };
  };
  "/api/product/approvals": {
    /** Pending and approved changes
     *
     * Changes that wait for consent, apply or review, oldest first. */
    get: {
      parameters: {
        query?: {
          /** Maximum number of changes. */
          limit?: number | undefined;

          /** Only changes younger than this id: next of the page before. */
          after?: string | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Changes that wait for consent, oldest first. */
              pending: components["schemas"]["AwaitingChange"][];

              /** Changes that wait for their apply, oldest first. */
              approved: components["schemas"]["AwaitingChange"][];

              /** Changes with a due emergency review. */
              review_due: {
                change_id: components["schemas"]["ChangeId"];
                status: components["schemas"]["ChangeStatus"];
                tier: components["schemas"]["ChangeTier"];
                target: components["schemas"]["ChangeTarget"];
                summary: components["schemas"]["ChangeSummary"];
                review?: components["schemas"]["Review"];
              }[];

              /** after of the next page; null at the end. */
              next: string | null;
            };
          };
        };
      };
    };
  };
  "/api/product/identity": {
    /** The instance's identity
     *
     * The governed product, and this instance. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: { 200: { content: { "application/json": components["schemas"]["ProductInstanceIdentity"] } } };
    };
  };
  "/api/product/co-evolution": {
    /** Insights learnt from peers
     *
     * Effects of changes at peers, newest first, and those that this instance shares. */
    get: {
      parameters: {
        query?: {
          /** Maximum number of insights. */
          limit?: number | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Insights of peers, the last received first. */
              insights: components["schemas"]["Insight"][];

              /** The peers they come from. */
              peers: components["schemas"]["Peer"][];

              /** The shared insights, word for word. */
              shared: components["schemas"]["SharedInsight"][];

              /** Number of received insights, by result. */
              counts: {
                /** Insights that are kept. */
                kept: number;

                /** Insights of unrelated products. */
                unrelated: number;

                /** Insights that were malformed, or that the peer may not send. */
                refused: number;
              };
            };
          };
        };
      };
    };
  };
  "/api/product/changes/{change_id}": {
    /** One change
     *
     * A change with its entries, outcome, consents and gates. */
    get: {
      parameters: {
        query?: {
          /** Seconds to wait until the status changes, or with If-None-Match the revision. */
          wait?: number | undefined;

          /** Reader; absent: the proxy's person. */
          person?: string | undefined;

          /** Also reads the current values of its places. */
          seen?: boolean | undefined;
        };
        header?: {
          /** ETag of the caller's copy: 304 while current; for a change only with wait. */
          "If-None-Match"?: string | undefined;
        };
        path: {
          /** Id of the change. */
          change_id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": components["schemas"]["Change"] & {
              /** Audit entries, oldest first. */
              audit_entries: components["schemas"]["AuditEntry"][];

              /** Movement of its KPI since the apply; null before. */
              outcome: components["schemas"]["Outcome"] | null;

              /** Actions that it allows now. */
              allowed_actions: string[];

              /** Missing consents, by rule. */
              missing: components["schemas"]["MissingConsent"][];

              /** People who consented, with the proof of each. */
              signers: components["schemas"]["Signer"][];

              /** Acts of the reader, by the rules of the intent. */
              caller: {
                /** The reader; null: no name. */
                name: string | null;

                /** Acts that are open to the reader now. */
                may: (
                  | "review"
                  | "advance"
                  | "resume"
                  | "hold"
                  | "approve"
                  | "apply"
                  | "rollback"
                  | "deny"
                  | "withdraw"
                  | "revoke"
                  | "approve_emergency"
                  | "restore"
                )[];

                /** Acts that are closed to the reader. */
                may_not: {
                  /** The act. */
                  action:
                    | "review"
                    | "advance"
                    | "resume"
                    | "hold"
                    | "approve"
                    | "apply"
                    | "rollback"
                    | "deny"
                    | "withdraw"
                    | "revoke"
                    | "approve_emergency"
                    | "restore";

                  /** Why it is closed, in sentences. */
                  reasons: string[];
                }[];
              };

              /** Gates of its apply. */
              gates: components["schemas"]["Gate"][];

              /** Drift at the host product: since when, and how; else null. */
              drift: components["schemas"]["DriftEpisode"] | null;

              /** Its rollout in steps. */
              rollout?: {
                /** Needs of each step. */
                estimate: {
                  /** Users with the value, at most; null: unknown. */
                  users: number | null;

                  /** Days at users_a_day, at most. */
                  days: number | null;
                }[];

                /** Bounds by the newest totals. */
                measured: {
                  /** Step, from 0. */
                  step: number;

                  /** A watched KPI. */
                  kpi: string;

                  /** Time of the totals. */
                  as_of: string;

                  /** Users with the value. */
                  treated_n: number;

                  /** Users without. */
                  control_n: number;

                  /** Mean with the value. */
                  treated: number;

                  /** Mean without. */
                  control: number;

                  /** In the unit of allowed. */
                  worse_at_least: number | null;

                  /** The other bound. */
                  worse_at_most: number | null;
                }[];

                /** Earliest next step. */
                not_before?: string;

                /** The KPI that holds it. */
                kpi?: string;

                /** Why an advance failed. */
                error?: string;
              };

              /** Other changes that it has to do with. */
              related: {
                change_id: components["schemas"]["ChangeId"];
                summary: components["schemas"]["ChangeSummary"];
                proposer: components["schemas"]["ChangeProposer"];
                status: components["schemas"]["ChangeStatus"];
                resolution: components["schemas"]["ChangeResolution"];

                /** live: waits on the same target; holds: the target holds it; supersedes, superseded_by. */
                relations: ("live" | "holds" | "supersedes" | "superseded_by")[];
              }[];

              /** With seen: current values of its places. */
              seen?: components["schemas"]["Seen"][];

              /** Results of similar changes at peers; null without any. */
              evidence: components["schemas"]["Evidence"] | null;
            };
          };
        };
      };
    };
  };
  "/api/product/changes/{change_id}/certificate": {
    /** Certificate of one change
     *
     * Proves offline who consented to the content; verify with countersign-verify. */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** Id of the change. */
          change_id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: { 200: { content: { "text/plain": string } } };
    };
  };
  "/api/product/outcomes": {
    /** Expected against realised KPI movement
     *
     * Expected and measured KPI movement of applied changes. A correlation; of a rollout a measurement. */
    get: {
      parameters: {
        query?: {
          /** Maximum number of outcomes. */
          limit?: number | undefined;

          /** Only changes older than this id: next of the page before. */
          before?: string | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Outcomes, the newest change first. */
              outcomes: components["schemas"]["Outcome"][];

              /** Expected and actual effects so far, by KPI and group; null on further pages. */
              calibration:
                | {
                    /** The KPI; the means have its unit. */
                    kpi: string;

                    /** Grouping of the changes. */
                    by: "kind" | "proposer_kind" | "proposer";

                    /** The kind, kind of proposer, or proposer. */
                    group: string;

                    /** Final outcomes with a promise, not shared. */
                    n: number;

                    /** Of these met. */
                    met: number;

                    /** Of these missed. */
                    missed: number;

                    /** Of these regressed. */
                    regressed: number;

                    /** Mean expected_delta_k of these. */
                    mean_promised: number | null;

                    /** Mean realised_delta of these. */
                    mean_realised: number | null;

                    /** Further outcomes whose movement is shared. */
                    shared: number;
                  }[]
                | null;

              /** before of the next page; null at the end. */
              next: string | null;
            };
          };
        };
      };
    };
  };
  "/api/product/drift": {
    /** Drift of the host product from applied values
     *
     * Targets without their applied value, as of the last check. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** The worst finding; null without adapter or check, and if a place could not be read. */
              result: "in_sync" | "drifted" | "missing" | null;

              /** Whether nothing differs; null while not known. */
              in_sync: boolean | null;

              /** When the last check was; null before the first. */
              checked_at: string | null;

              /** Each place was verified since then; null: not yet. */
              oldest_verified_at: string | null;

              /** Changes with another value at the host product. */
              drifted: components["schemas"]["DriftEpisode"][];

              /** Changes that the host product does not have. */
              missing: components["schemas"]["DriftEpisode"][];
            };
          };
        };
      };
    };
  };
  "/api/product/policy": {
    /** Rules for the values of a target
     *
     * Schemas and limits for a value of this target; with kind, tier and consents of a proposal. */
    get: {
      parameters: {
        query: {
          /** Target of the change. */
          target: string;

          /** Tenant of the target; absent: the answer has no numbers. */
          tenant_id?: string | undefined;

          /** The kind of change; absent: no preview. */
          kind?: "config" | "workflow" | "feature_flag" | "code_patch" | "experiment" | undefined;

          /** Requested tier; minor only if the intent covers it. Absent: standard. */
          tier?: "minor" | "standard" | "major" | undefined;

          /** Absent: not stated, taken as medium. High is major. */
          risk?: "low" | "medium" | "high" | undefined;

          /** How many users it reaches. */
          affected_users?: number | undefined;

          /** Can be undone; absent: not stated. False makes it major; minor needs true. */
          reversible?: boolean | undefined;

          /** The KPI that expected_delta_k is about. */
          kpi?:
            | "nrr_quarterly"
            | "deal_win_rate"
            | "sales_cycle_days_p50"
            | "weekly_active_sales_pct"
            | "csat"
            | "incident_rate"
            | undefined;

          /** When it applies by itself: approved, or a time; absent: a person applies it. */
          apply_when?: "manual" | "approved" | string | undefined;

          /** Proposer; absent: the proxy's person, or the agent. */
          proposer?: string | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Rules of policy.targets for this target; all of them hold. */
              rules: ({
                /** The targets of the rule. */
                match: string[];
              } & Record<string, unknown>)[];

              /** Steps that are allowed now; empty without tenant_id. */
              limits: {
                /** The number in the proposal. */
                path: string;

                /** Numbers that it is compared with; empty for a first value. */
                base: number[];

                /** The least that is allowed now; null: no limit. */
                minimum: number | null;

                /** The greatest. */
                maximum: number | null;

                /** Why no number can be proposed now. */
                problem: string | null;
              }[];

              /** Result of the rules for this proposal; null without kind. */
              preview: {
                /** Why it would be rejected, apart from its value and conflicts; null: accepted. */
                refused: string | null;

                /** The tier it would have; minor as long as changes of this day are left for it. */
                tier: "minor" | "standard" | "major";

                /** Why it would not be minor, if minor is requested. */
                tier_reason: string | null;

                /** Whose consent it would need; an empty `of` means anybody. */
                missing: components["schemas"]["MissingConsent"][];
              } | null;
            };
          };
        };
      };
    };
  };
  "/api/product/values": {
    /** Values of all targets
     *
     * The value that applied changes give each target. */
    get: {
      parameters: {
        query?: {
          /** Only values of this tenant; `*`: values for all tenants. */
          tenant_id?: string | undefined;

          /** Only values of this target. */
          target?: string | undefined;

          /** Maximum number of values; a page has 1 MiB at most. */
          limit?: number | undefined;

          /** The `next` of the page before. */
          after?: string | undefined;
        };
        header?: {
          /** ETag of the caller's copy: 304 while current; for a change only with wait. */
          "If-None-Match"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Values, by tenant and target. */
              values: (
                | {
                    /** Its tenant; `*`: all without their own value. */
                    tenant_id: string;

                    /** Its target, as first spelled. */
                    target: string;

                    /** The change that set it. */
                    change_id: string;

                    /** Entry of its apply. */
                    entry: number;

                    /** When it was applied. */
                    applied_at: string;

                    /** Consented to and applied, by the log. */
                    state: "governed";

                    /** The value, any JSON. */
                    value: unknown;

                    /** In a rollout: `share` of 10,000, by `unit` and `salt`; `step`, `since`. */
                    exposure?: unknown;

                    /** Value of everybody else, in the same form; null: none. */
                    before?: unknown;

                    /** Kind of the change. */
                    kind: "config" | "workflow" | "feature_flag" | "code_patch" | "experiment";

                    /** SHA-256 of the content consented to. */
                    digest: string;
                  }
                | {
                    /** Its tenant; `*`: all without their own value. */
                    tenant_id: string;

                    /** Its target, as first spelled. */
                    target: string;

                    /** The change that set it. */
                    change_id: string;

                    /** Entry of its apply. */
                    entry: number;

                    /** When it was applied. */
                    applied_at: string;

                    /** Its change does not match the log, or was erased. */
                    state: "withheld";

                    /** Why, for people. */
                    problem: string;
                  }
              )[];

              /** The `after` of the next page; null at the end. */
              next: string | null;

              /** The last entry that the values include. */
              as_of: number;

              /** Number of later entries; mostly 0. */
              behind: number;
            };
          };
        };
      };
    };
  };
  "/api/product/export": {
    /** The log with the contents of changes and the intents
     *
     * The whole audit log as JSON lines, with contents and intents. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: { 200: { content: { "application/x-ndjson": string } } };
    };
  };
  "/api/product/pack": {
    /** An auditor's pack of one change or of a period
     *
     * Audit evidence of one change or of a period, as a tar file or a page to print. */
    get: {
      parameters: {
        query?: {
          /** Change of the pack; instead of from and to. */
          change_id?: string | undefined;

          /** Start of the period. */
          from?: string | undefined;

          /** End of the period, exclusive; absent: now. */
          to?: string | undefined;

          /** tar: files; html: a page that prints well. */
          format?: "tar" | "html" | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: { 200: { content: { "application/x-tar": string; "text/html": string } } };
    };
  };
  "/api/product/propose-crm-followup": {
    /** Propose a CRM follow-up
     *
     * Proposes a workflow on the target crm.followup; its risk follows from the number of users. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Tenant of the customers. */
            tenant_id: string;

            /** How many users it reaches; the risk follows from it. */
            affected_users: number;

            /** Gain that you expect. */
            expected_delta_k: number;

            /** Proposer; absent: the proxy's person, or the agent. */
            proposer?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: { 201: { content: { "application/json": components["schemas"]["Proposal"] } } };
    };
  };
  "/api/product/propose": {
    /** Propose a change
     *
     * Records a change for people to decide; a minor change needs no consent. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          components["schemas"]["ProposeChangeFields"] & {
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: { 201: { content: { "application/json": components["schemas"]["Proposal"] } } };
    };
  };
  "/api/product/approve": {
    /** Give consent to a pending change
     *
     * Records one person's consent; the change is approved once enough have consented. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The ETag that the change must still have. */
          "If-Match"?: string | undefined;

          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Approver; absent: the proxy's person. */
            approver: string;

            /** Id of the change. */
            change_id: string;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;

            /** Consent under break_glass: needs a note, and passes freeze and windows. */
            emergency?: boolean | undefined;

            /** Digests of the values that you saw, in the order of places. */
            seen?: string[] | undefined;
          }
        >;
      };
      responses: { 200: { content: { "application/json": components["schemas"]["Decision"] } } };
    };
  };
  "/api/product/deny": {
    /** Deny a pending change
     *
     * Closes a pending change; one denial is final. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The ETag that the change must still have. */
          "If-Match"?: string | undefined;

          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Person who denies; absent: the proxy's person. */
            approver: string;

            /** Id of the change. */
            change_id: string;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: { 200: { content: { "application/json": components["schemas"]["Decision"] } } };
    };
  };
  "/api/product/withdraw": {
    /** Withdraw a pending change
     *
     * The proposer closes a pending change. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The ETag that the change must still have. */
          "If-Match"?: string | undefined;

          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Proposer; absent: the proxy's person, or the agent. */
            proposer: string;

            /** Id of the change. */
            change_id: string;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: { 200: { content: { "application/json": components["schemas"]["Decision"] } } };
    };
  };
  "/api/product/revoke": {
    /** Revoke a consent to a change that is not applied
     *
     * An approver revokes their consent before the apply; the change is closed as denied. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The ETag that the change must still have. */
          "If-Match"?: string | undefined;

          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Approver; absent: the proxy's person. */
            approver: string;

            /** Id of the change. */
            change_id: string;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: { 200: { content: { "application/json": components["schemas"]["Decision"] } } };
    };
  };
  "/api/product/consent-statement": {
    /** Statement to sign for a decision
     *
     * The exact text that a passkey or SSH key signs for a decision now. Nothing is written. */
    post: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** The decision on a change, or the action on the service. */
            decision:
              | "approve"
              | "approve_emergency"
              | "deny"
              | "revoke"
              | "review"
              | "withdraw"
              | "propose"
              | "note"
              | "stage"
              | "apply"
              | "rollback"
              | "restore"
              | "freeze"
              | "unfreeze"
              | "accept_clock"
              | "accept_loss"
              | "erase"
              | "feed_kpis"
              | "mandate"
              | "mandate_narrow"
              | "mandate_resume"
              | "mandate_revoke";

            /** The signer: approver, proposer or actor. */
            approver: string;

            /** The change that is decided on; absent for a proposal and for most actions. */
            change_id?: string | undefined;

            /** The mandate that is decided on. */
            mandate_id?: string | undefined;

            /** Bounds of narrowMandate. */
            narrow?: unknown;

            /** The note that the decision will carry. */
            note?: string | undefined;

            /** For a review: its verdict. */
            verdict?: "accepted" | "not_accepted" | undefined;

            /** The item that a late note adds. */
            item?: "rationale" | "note" | undefined;

            /** Step of a rollout. */
            step?: number | undefined;

            /** Action on a rollout. */
            action?: "hold" | "resume" | "advance" | undefined;

            /** Digests that go with a consent. */
            seen?: string[] | undefined;

            /** True for a rollback over drift. */
            over_drift?: boolean | undefined;

            /** Values of a KPI feed. */
            kpis?: Record<string, number> | undefined;

            /** For a freeze: its end. */
            until?: string | undefined;

            /** For an accepted loss: number of entries in the log now. */
            length?: number | undefined;

            /** For an accepted loss: current_hash of the last entry now. */
            head?: string | undefined;

            /** Time in the statement; absent: now. */
            at?: string | undefined;

            /** The fields of proposeChange; in a form, JSON text. */
            proposal?: components["schemas"]["ProposeChangeFields"] | undefined;

            /** The fields of proposeCrmFollowup; in a form, JSON text. */
            followup?:
              | {
                  /** Tenant of the customers. */
                  tenant_id: string;

                  /** How many users it reaches; the risk follows from it. */
                  affected_users: number;

                  /** Gain that you expect. */
                  expected_delta_k: number;

                  /** Proposer; absent: the proxy's person, or the agent. */
                  proposer?: string | undefined;
                }
              | undefined;
          }
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": {
              /** The exact bytes to sign: RFC 8785 JSON. */
              statement: string;

              /** Content of a proposal, which the digest covers. */
              content?: Record<string, unknown>;

              /** SHA-256 of the statement in base64url, for a passkey. */
              challenge: string;
            };
          };
        };
      };
    };
  };
  "/api/product/apply": {
    /** Apply an approved change
     *
     * Sets the value of an approved change on its target system. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The ETag that the change must still have. */
          "If-Match"?: string | undefined;

          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Id of the change. */
            change_id: string;

            /** Dry run: nothing is changed or recorded. */
            dry_run?: boolean | undefined;

            /** Actor; absent: the proxy's person. */
            actor?: string | undefined;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: { 200: { content: { "application/json": components["schemas"]["Operation"] } } };
    };
  };
  "/api/product/rollback": {
    /** Roll back an applied change
     *
     * Restores the value before an applied change. dry_run changes nothing. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The ETag that the change must still have. */
          "If-Match"?: string | undefined;

          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Id of the change. */
            change_id: string;

            /** Dry run: nothing is changed or recorded. */
            dry_run?: boolean | undefined;

            /** Actor; absent: the proxy's person. */
            actor?: string | undefined;

            /** Restore over a value that another program set since; needs a note. */
            over_drift?: boolean | undefined;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: { 200: { content: { "application/json": components["schemas"]["Operation"] } } };
    };
  };
  "/api/product/restore": {
    /** Restore the consented value
     *
     * Sets the value of an applied change again after an edit from outside. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The ETag that the change must still have. */
          "If-Match"?: string | undefined;

          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Id of the change. */
            change_id: string;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;

            /** Actor; absent: the proxy's person. */
            actor?: string | undefined;
          }
        >;
      };
      responses: { 200: { content: { "application/json": components["schemas"]["Operation"] } } };
    };
  };
  "/api/product/review": {
    /** Review an emergency consent
     *
     * Records afterwards if an emergency consent was right. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The ETag that the change must still have. */
          "If-Match"?: string | undefined;

          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Reviewer; absent: the proxy's person. */
            approver: string;

            /** The reviewer's verdict on the emergency. */
            verdict: "accepted" | "not_accepted";

            /** Id of the change. */
            change_id: string;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": {
              /** Id of the change. */
              change_id: string;

              /** Status of the change. */
              status: "proposed" | "pending_consent" | "approved" | "applied" | "rolled_back" | "denied";

              /** Verdict of the review. */
              verdict: "accepted" | "not_accepted";
              change: components["schemas"]["Change"];
              audit_entry: components["schemas"]["AuditEntry"];
            };
          };
        };
      };
    };
  };
  "/api/product/freeze": {
    /** Freeze all applies
     *
     * Blocks every apply except emergencies. Rollbacks stay possible. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody?: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Actor; absent: the proxy's person. */
            actor?: string | undefined;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;

            /** End (RFC 3339); absent: until a person lifts it. */
            until?: string | undefined;
          }
        >;
      };
      responses: { 200: { content: { "application/json": components["schemas"]["FreezeState"] } } };
    };
  };
  "/api/product/unfreeze": {
    /** Lift a freeze
     *
     * Ends a freeze, so that approved changes can be applied again. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody?: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Actor; absent: the proxy's person. */
            actor?: string | undefined;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: { 200: { content: { "application/json": components["schemas"]["FreezeState"] } } };
    };
  };
  "/api/product/erase": {
    /** Erase the content of a change
     *
     * Removes the content of a closed change, within a day from every copy. The log still verifies. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The ETag that the change must still have. */
          "If-Match"?: string | undefined;

          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Id of the change; denied, rolled back or superseded. */
            change_id: string;

            /** Actor; absent: the proxy's person. */
            actor?: string | undefined;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": {
              /** Id of the change. */
              change_id: string;

              /** Time by which all copies are gone: from other collections, files and the journal. */
              gone_by: string;

              /** Data that stays, in sentences. */
              stays: string[];
              change: components["schemas"]["Change"];
              audit_entry: components["schemas"]["AuditEntry"];
            };
          };
        };
      };
    };
  };
  "/api/product/note": {
    /** Add a late note
     *
     * Adds the rationale or the note that a decided change lacks. It is marked late. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The ETag that the change must still have. */
          "If-Match"?: string | undefined;

          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Id of the change. */
            change_id: string;

            /** Author; absent: the proxy's person. */
            actor?: string | undefined;

            /** Item to add; each once, if missing. */
            item: "rationale" | "note";

            /** Text of the note. */
            note: string;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": {
              /** Id of the change. */
              change_id: string;
              change: components["schemas"]["Change"];
              audit_entry: components["schemas"]["AuditEntry"];
            };
          };
        };
      };
    };
  };
  "/api/product/stage": {
    /** Hold, resume or advance a rollout
     *
     * A hold stops advances only. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The ETag that the change must still have. */
          "If-Match"?: string | undefined;

          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Id of the change. */
            change_id: string;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;

            /** Current step of the rollout. */
            step: number;

            /** Action on the rollout. */
            action: "hold" | "resume" | "advance";

            /** Actor; absent: the proxy's person. */
            actor: string;
          }
        >;
      };
      responses: { 200: { content: { "application/json": components["schemas"]["Operation"] } } };
    };
  };
  "/api/product/samples": {
    /** Feed samples of a rollout
     *
     * Totals of each step so far; only the agent in fed_by may feed them. */
    post: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Id of the change. */
            change_id: string;

            /** Up to 100 rows: docs/rollouts.md. */
            rows: unknown;
          }
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": {
              /** Id of the change. */
              change_id: string;

              /** Rows that were taken. */
              accepted: number;

              /** Current step of the rollout. */
              step: number;
            };
          };
        };
      };
    };
  };
  "/api/product/kpi": {
    /** Feed KPIs
     *
     * Records the current KPI values. One invalid field rejects the whole feed. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody?: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Feeder; absent: the proxy's person. */
            actor?: string | undefined;

            /** Source of the figures, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;

            /** Value of nrr_quarterly now. */
            nrr_quarterly?: number | undefined;

            /** Value of deal_win_rate now. */
            deal_win_rate?: number | undefined;

            /** Value of sales_cycle_days_p50 now. */
            sales_cycle_days_p50?: number | undefined;

            /** Value of weekly_active_sales_pct now. */
            weekly_active_sales_pct?: number | undefined;

            /** Value of csat now. */
            csat?: number | undefined;

            /** Value of incident_rate now. */
            incident_rate?: number | undefined;
          }
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": {
              /** True if a KPI that counts in E was fed. */
              refreshed: boolean;

              /** Effect after the feed, 0 to 1; null without data. */
              E: number | null;

              /** The values that were taken, by KPI. */
              accepted: Record<string, number>;

              /** Time of the feed. */
              at: string;
              audit_entry: components["schemas"]["AuditEntry"];
            };
          };
        };
      };
    };
  };
  "/api/product/mandates": {
    /** Mandates
     *
     * Mandates and drafts, oldest first. */
    get: {
      parameters: {
        query?: {
          /** Only mandates with this status. */
          state?: "draft" | "active" | "suspended" | "ended" | undefined;

          /** Only mandates of this agent. */
          agent?: string | undefined;

          /** Maximum number. */
          limit?: number | undefined;

          /** Only mandates after this id: next of the previous page. */
          after?: string | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Mandates, oldest first. */
              mandates: components["schemas"]["Mandate"][];

              /** after of the next page; null at the end. */
              next: string | null;
            };
          };
        };
      };
    };

    /** Draft a mandate
     *
     * Creates the draft of a mandate, which has no effect until people have signed it. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** An agent of the intent. */
            agent: string;

            /** Patterns of targets. */
            targets: string[];

            /** Kinds of changes. */
            kinds: ("config" | "workflow" | "feature_flag" | "code_patch" | "experiment")[];

            /** A list, or all. */
            tenants: "all" | string[];

            /** Limits of values: schema, max_step, unit. */
            limits?: unknown;

            /** Most users of one change. */
            max_affected_users?: number | undefined;

            /** Most changes on a UTC day; absent: the policy's. */
            max_per_day?: number | undefined;

            /** Most approved and not yet applied; absent: the policy's. */
            max_open?: number | undefined;

            /** Values by KPI; a worse feed suspends the mandate. */
            kpi_floor?: Record<string, number> | undefined;

            /** Its end. */
            until: string;

            /** Begin; absent: the last signature. */
            from?: string | undefined;

            /** Purpose, for the signers. */
            note?: string | undefined;

            /** Author; absent: the proxy's person. */
            actor?: string | undefined;
          }
        >;
      };
      responses: { 201: { content: { "application/json": components["schemas"]["Mandate"] } } };
    };
  };
  "/api/product/mandates/{mandate_id}": {
    /** One mandate
     *
     * A mandate with the changes that it approved, newest first, and its entries. */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** Id of the mandate. */
          mandate_id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": components["schemas"]["Mandate"] &
              ({
                /** The newest 100 changes: change_id, at, target, tenant_id, summary, status. */
                changes: Record<string, string>[];

                /** Audit entries, oldest first. */
                audit_entries: components["schemas"]["AuditEntry"][];
              } & Record<string, unknown>);
          };
        };
      };
    };
  };
  "/api/product/mandate-sign": {
    /** Sign a mandate
     *
     * Signs a draft. The last required signature makes it active. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Id of the mandate. */
            mandate_id: string;

            /** Signer; absent: the proxy's person. */
            approver: string;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": components["schemas"]["Mandate"] &
              ({ audit_entry: components["schemas"]["AuditEntry"] } & Record<string, unknown>);
          };
        };
      };
    };
  };
  "/api/product/mandate-narrow": {
    /** Narrow a mandate
     *
     * Makes bounds of a signed mandate smaller. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Id of the mandate. */
            mandate_id: string;

            /** Signer; absent: the proxy's person. */
            approver: string;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;

            /** The bounds that change. */
            narrow: unknown;
          }
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": components["schemas"]["Mandate"] &
              ({ audit_entry: components["schemas"]["AuditEntry"] } & Record<string, unknown>);
          };
        };
      };
    };
  };
  "/api/product/mandate-resume": {
    /** Resume a mandate
     *
     * Signs the resumption of a suspended mandate; it needs the same quorum as a new one. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Id of the mandate. */
            mandate_id: string;

            /** Signer; absent: the proxy's person. */
            approver: string;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": components["schemas"]["Mandate"] &
              ({ audit_entry: components["schemas"]["AuditEntry"] } & Record<string, unknown>);
          };
        };
      };
    };
  };
  "/api/product/mandate-revoke": {
    /** Revoke a mandate
     *
     * Ends a mandate, or removes an unsigned draft. Its unapplied changes then need people's consent. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** The same key with the same body has the same answer for 24 hours. */
          "Idempotency-Key"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** Id of the mandate. */
            mandate_id: string;

            /** Signer; absent: the proxy's person. */
            approver: string;

            /** Why, for the record. */
            note?: string | undefined;
            proof?: components["schemas"]["Proof"] | undefined;
            at?: components["schemas"]["SignedAt"] | undefined;
          }
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": components["schemas"]["Mandate"] &
              ({ audit_entry?: components["schemas"]["AuditEntry"] } & Record<string, unknown>);
          };
        };
      };
    };
  };
  "/api/inbox": {
    /** Work that waits for people
     *
     * Changes that wait or drifted: how many, and the most urgent of each. */
    get: {
      parameters: {
        query?: {
          /** The person; absent: the proxy's person, or the agent. */
          person?: string | undefined;

          /** Maximum number of items a list. */
          limit?: number | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** The person; null if unnamed. */
              person: string | null;

              /** How much waits. */
              totals: {
                /** Changes that wait for consent. */
                pending: number;

                /** Number that waits for the person; null if unnamed. */
                waiting_for_you: number | null;

                /** Changes that wait for their apply. */
                approved: number;

                /** Emergency consents that wait for review. */
                review_due: number;

                /** Drifted changes. */
                drifted: number;

                /** Pending and approved ones in the last quarter of their time. */
                expiring: number;
              };
              waiting_for_you: components["schemas"]["InboxList"];
              pending: components["schemas"]["InboxList"];
              approved: components["schemas"]["InboxList"];
              review_due: components["schemas"]["InboxList"];
              drifted: components["schemas"]["InboxList"];

              /** KPIs that were judged worse than at an apply in the last week. */
              worse_kpis: string[];

              /** Mandates that are suspended, end soon or are not signed yet. */
              mandates: {
                /** Its id. */
                mandate_id: string;

                /** Its agent. */
                agent: string;

                /** Its state. */
                state: "draft" | "active" | "suspended" | "ended";

                /** Its end. */
                until: string;

                /** Reason of its suspension; null otherwise. */
                reason: string | null;

                /** True if the person's signature is missing. */
                waits_for_you: boolean;
              }[];

              /** False if more than 5000 changes wait (only the oldest are sorted), or the newest entries are not included yet. */
              complete: boolean;
            };
          };
        };
      };
    };
  };
  "/api/find": {
    /** Find changes
     *
     * Finds changes by words and field:value terms; GET /api/find/saved lists the fields. */
    get: {
      parameters: {
        query?: {
          /** The query; empty: every change. */
          q?: string | undefined;

          /** Maximum number of rows. */
          limit?: number | undefined;

          /** The next of the page before. */
          after?: string | undefined;

          /** The time zone in which days are read; absent: UTC. */
          tz?: string | undefined;

          /** The caller; absent: the proxy's person, or the agent. */
          person?: string | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** The query that ran, normalised. */
              query: string;

              /** A page of results. */
              rows: components["schemas"]["FoundChange"][];

              /** Exact number of matches. */
              total: number;

              /** With `group`: number of matches by group; empty without it. */
              groups: {
                /** The common value. */
                key: string;

                /** Number of changes. */
                count: number;
              }[];

              /** `after` for the next page; null at the end. */
              next: string | null;

              /** With `time`: number of matches to which both events happened. */
              timed?: number;

              /** With `time`: the median of the timed, in seconds. */
              median?: number | null;

              /** With `time`: the longest of the timed, in seconds. */
              max?: number | null;
            };
          };
        };
      };
    };
  };
  "/api/find/saved": {
    /** Saved questions and fields
     *
     * Lists saved queries, and the fields of the query language with values. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Queries with names. */
              saved: {
                /** Id of the question. */
                id: string;

                /** The name for people. */
                title: {
                  /** The name in English. */
                  en: string;

                  /** The name in Chinese. */
                  zh: string;
                };

                /** Text of the query. */
                query: string;
              }[];

              /** The fields of the query language, with values to complete them with. */
              fields: {
                /** The word before the colon. */
                field: string;

                /** The kind of value behind it. */
                takes: "words" | "names" | "pattern" | "number" | "date";

                /** Values to choose from: all words, or names on record, at most 500. */
                values: string[];
              }[];
            };
          };
        };
      };
    };
  };
  "/api/state": {
    /** The system's state
     *
     * E, M, R and N with inputs, goals, tasks and freeze. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** The number of cycles so far. */
              tick: number;

              /** Effect, 0 to 1: how far the KPIs are on their way; null without data. */
              E: number | null;

              /** Memory, 0 to 1: share of required items on record; null without data. */
              M: number | null;

              /** Reliability, 0 to 1: the share of applies that held; null without data. */
              R: number | null;

              /** Need, 0 to 1: rises only with overdue work; 0 without any. */
              N: number | null;

              /** The numbers behind each value. */
              dimensions: {
                /** Effect: how far the KPIs are on their way. */
                E: {
                  /** E, from 0 to 1; null without data. */
                  value: number | null;

                  /** The share of each fed KPI. */
                  parts: {
                    /** Name of the KPI. */
                    kpi: string;

                    /** Its newest value. */
                    value: number;

                    /** When that was fed. */
                    at: string;

                    /** Whether that was more than 7 days ago; it counts all the same. */
                    stale: boolean;

                    /** The value it starts from; null when not known. */
                    baseline: number | null;

                    /** The value it should reach; null when not known. */
                    target: number | null;

                    /** Its weight in the mean; null when it does not count. */
                    weight: number | null;

                    /** 0 to 1: 0.5 at the baseline, 1 at the target; null when it does not count. */
                    attainment: number | null;

                    /** Why it does not count; null when it does. */
                    reason: string | null;
                  }[];
                };

                /** Memory: required and recorded items of closed changes. */
                M: {
                  /** M, from 0 to 1: present / expected; null when no change was closed. */
                  value: number | null;

                  /** First UTC day that is looked at. */
                  from: string;

                  /** Last UTC day that is looked at. */
                  to: string;

                  /** Changes closed within these days: denied, or applied and their outcome final. */
                  closed: number;

                  /** Items that should be on their records. */
                  expected: number;

                  /** Present items, including those added later. */
                  present: number;

                  /** Number of present items that were added later. */
                  late: number;

                  /** How often each item is missing. */
                  missing: {
                    /** Records that lack it. */
                    rationale: number;

                    /** Records that lack it. */
                    decider: number;

                    /** Records that lack it. */
                    note: number;

                    /** Records that lack it. */
                    verdict: number;
                  };

                  /** The newest changes with something missing. */
                  gaps: {
                    /** A closed change. */
                    change_id: string;

                    /** When it was closed. */
                    closed_at: string;

                    /** Missing items. */
                    missing: ("rationale" | "decider" | "note" | "verdict")[];
                  }[];
                };

                /** Reliability: applies that held. */
                R: {
                  /** R, from 0 to 1: 1 - failed / n; null when nothing was attempted. */
                  value: number | null;

                  /** First UTC day that is looked at. */
                  from: string;

                  /** Last UTC day that is looked at. */
                  to: string;

                  /** Applies attempted within these days. */
                  n: number;

                  /** Number of failed ones; each counts once. */
                  failed: number;

                  /** Causes; an attempt can have two. */
                  causes: {
                    /** The host product refused or did not confirm it. */
                    adapter_failure: number;

                    /** It was rolled back. */
                    rolled_back: number;

                    /** The host product no longer had it. */
                    drifted: number;
                  };

                  /** Wilson score interval of the share that did not fail; null without attempts. */
                  interval: {
                    /** Lower bound. */
                    low: number;

                    /** Upper bound. */
                    high: number;

                    /** How sure that is. */
                    confidence: 0.95;
                  } | null;
                };

                /** Need: overdue work. */
                N: {
                  /** N, from 0 to 1: weight / (weight + 8); 0 when nothing is overdue. */
                  value: number;

                  /** Total weight of overdue items. */
                  weight: number;

                  /** How much is open; it does not move N. */
                  open: number;

                  /** How much of that is overdue. */
                  overdue: number;

                  /** By kind; kinds without open items are omitted. */
                  items: {
                    /** Open items. */
                    item:
                      | "pending_changes"
                      | "approved_changes"
                      | "tasks_urgent"
                      | "tasks_high"
                      | "tasks_normal"
                      | "tasks_low"
                      | "drift"
                      | "review_due"
                      | "stale_kpis"
                      | "audit_chain";

                    /** How many are open. */
                    open: number;

                    /** How many of these are overdue. */
                    overdue: number;
                  }[];

                  /** True when more are overdue than are counted. */
                  at_least: boolean;
                };
              };

              /** The intent's KPI goals. */
              goals: {
                /** Name of the KPI. */
                kpi: string;

                /** The value it starts from. */
                baseline: number;

                /** The value it should reach. */
                target: number;

                /** Its newest value; null before the first feed. */
                current: number | null;

                /** When that was fed; null before. */
                fed_at: string | null;

                /** 0 at the baseline, 1 at the target, not clamped; null without a value. */
                progress: number | null;

                /** By when it should be reached; null: at no time. */
                deadline: string | null;

                /** True if progress keeps up with the time to the deadline; null without one. */
                on_pace: boolean | null;

                /** stale: not fed for 7 days; under_way: better than the baseline. */
                status: "no_data" | "stale" | "behind" | "under_way" | "on_track" | "met";
              }[];

              /** Inputs of the newest results. */
              provenance: {
                /** The newest reply of the chat; null before the first. */
                chat: {
                  /** Whether memories went into it. */
                  injected: boolean;

                  /** Id of the reply. */
                  reply_id: string;

                  /** Which memories. */
                  memory_ids: string[];

                  /** Who worded it: rules or a model. */
                  mode: "rules" | "llm";

                  /** When. */
                  at: string;
                } | null;
              };

              /** How many tasks there are. */
              tasks: components["schemas"]["TaskStats"];

              /** The freeze of applies; null if none. */
              freeze: components["schemas"]["Freeze"] | null;

              /** Each managed place was verified since then; null: not yet. */
              oldest_verified_at: string | null;

              /** When this was worked out. */
              as_of: string;

              /** The product; null without an intent. */
              product: {
                /** Id of the product. */
                product_id: string;

                /** Version of the intent. */
                version: string;
              } | null;

              /** Capabilities that fail or are degraded. */
              failing: components["schemas"]["Capability"][];
            };
          };
        };
      };
    };
  };
  "/api/log": {
    /** The growth log
     *
     * Notices of the service, newest first. No evidence. */
    get: {
      parameters: {
        query?: {
          /** Maximum number of rows. */
          limit?: number | undefined;

          /** Only rows before this seq: next of the page before. */
          before?: number | undefined;

          /** Only rows of this kind. */
          kind?: string | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Rows, newest first. */
              entries: components["schemas"]["GrowthRow"][];

              /** before of the next page; null at the end. */
              next: number | null;
            };
          };
        };
      };
    };
  };
  "/api/capabilities": {
    /** The capability map and the phases
     *
     * Capabilities of this instance; for missing ones the reason and the option. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Everything the service can do somewhere. */
              capabilities: components["schemas"]["Capability"][];

              /** The phases of its use, five in all. */
              phases: components["schemas"]["Phase"][];

              /** First phase that is not complete; null when all are. */
              current_phase: string | null;
            };
          };
        };
      };
    };
  };
  "/api/metrics": {
    /** Prometheus metrics
     *
     * Figures of the product and of this process in the Prometheus text format. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: { 200: { content: { "text/plain": string } } };
    };
  };
  "/api/events": {
    /** Server-sent events
     *
     * Server-sent events of entries, growth rows and ticks. */
    get: {
      parameters: {
        query?: {
          /** Id of the last event that was read; absent: from now on. */
          after?: string | undefined;
        };
        header?: {
          /** The id of the last event that was read; it wins over the query. */
          "Last-Event-ID"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: { 200: { content: { "text/event-stream": string } } };
    };
  };
  "/api/chat": {
    /** Send a message
     *
     * Answers from records and memories. A model can draft a change; it never decides. */
    post: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** The message; text and content are aliases. */
            message?: string | undefined;

            /** Other name of message. */
            text?: string | undefined;

            /** Other name of message. */
            content?: string | undefined;

            /** Author; absent: the proxy's person. */
            author?: string | undefined;

            /** Id of a draft, to store it as a proposal. */
            confirm_draft?: string | undefined;

            /** Name of a conversation; absent: the author's own, or the common one. */
            conversation_id?: string | undefined;

            /** off: memory is neither asked nor added to. */
            memory?: "on" | "off" | undefined;
          }
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": {
              /** Id of the message that was sent. */
              message_id: string;

              /** Reply of the service. */
              reply: {
                /** Id of the reply. */
                id: string;

                /** Text of the reply. */
                text: string;

                /** Author of the reply: rules or a model. */
                mode: "rules" | "llm";

                /** Records that the reply is based on. */
                citations: {
                  /** Kind of record. */
                  kind: string;

                  /** Id of the record. */
                  id: string;
                }[];

                /** Time of the reply. */
                at: string;
              };

              /** True if the reply uses memories. */
              injected: boolean;

              /** The memories that the reply uses. */
              memories: components["schemas"]["Memory"][];

              /** Drafts of a model; empty without one. */
              drafts: {
                /** `change`: a drafted proposal. `task`: a suggested task. */
                kind: "change" | "task";

                /** True if the reply stored the change; a task is never stored. */
                stored: boolean;

                /** Send it as confirm_draft to store the draft; null if it cannot be confirmed. */
                draft_id: string | null;

                /** Id of the stored change; null when nothing was stored. */
                change_id: string | null;

                /** Why it was not stored; null when it was. */
                reason: string | null;

                /** The fields of the POST that would submit it. */
                content: Record<string, unknown>;
              }[];

              /** The number of cycles so far. */
              tick: number;
            };
            "text/html": string;
          };
        };
      };
    };
  };
  "/api/chat/history": {
    /** The conversation as an HTML fragment
     *
     * The newest messages of a conversation, oldest first, as escaped HTML list items. */
    get: {
      parameters: {
        query?: {
          /** Maximum number of messages. */
          limit?: number | undefined;

          /** Only messages before this id. */
          before?: string | undefined;

          /** Author of the conversation; absent: the proxy's person; without a proxy, all. */
          author?: string | undefined;

          /** Name of the conversation; overrides author. */
          conversation_id?: string | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: { 200: { content: { "text/html": string } } };
    };
  };
  "/api/memory/search": {
    /** Search memory
     *
     * Finds memories of decisions, outcomes, feeds and own chats. */
    get: {
      parameters: {
        query: {
          /** Words to search for. */
          q: string;

          /** Maximum number of memories. */
          limit?: number | undefined;

          /** Author of the conversation; absent: the proxy's person, or the common one. */
          author?: string | undefined;

          /** A conversation by name, in place of the author's own. */
          conversation_id?: string | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** The words that were searched. */
              query: string;

              /** Memories, best first. */
              results: components["schemas"]["Memory"][];
            };
          };
        };
      };
    };
  };
  "/api/tasks": {
    /** Tasks in running order
     *
     * Tasks: running ones first, then queued ones by priority and age, then those that ended. */
    get: {
      parameters: {
        query?: {
          /** Only tasks of this status. */
          status?: "running" | "queued" | "completed" | "failed" | "cancelled" | undefined;

          /** Maximum number of tasks. */
          limit?: number | undefined;

          /** Only tasks behind this id: next of the page before. */
          after?: string | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Tasks in running order. */
              tasks: components["schemas"]["Task"][];

              /** Number of tasks by status. */
              stats: components["schemas"]["TaskStats"];

              /** after of the next page; null at the end. */
              next: string | null;
            };
          };
        };
      };
    };

    /** Submit a task
     *
     * Queues a task; a cycle runs at most one and keeps its report as the result. */
    post: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** The request in a line. */
            title: string;

            /** Details of the request. */
            description?: string | undefined;

            /** Subject: E, M, R, N, their names, or a label of your own. */
            required_dimension?: string | undefined;

            /** low, normal, high, urgent, or 1 to 4. Absent: normal. */
            priority?: "low" | "normal" | "high" | "urgent" | number | undefined;
          }
        >;
      };
      responses: { 201: { content: { "application/json": components["schemas"]["Task"] } } };
    };
  };
  "/api/task/feedback": {
    /** Rate a completed task
     *
     * Rates the result of a completed task, 1 to 5; a later rating replaces the earlier one. */
    post: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** The completed task. */
            task_id: string;

            /** 1 to 5, 5 being best. */
            rating: number;

            /** Note. */
            comment?: string | undefined;

            /** Rater; absent: the proxy's person. */
            rater?: string | undefined;
          }
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": {
              /** The task. */
              task_id: string;
              feedback: components["schemas"]["Feedback"];

              /** Mean over the ratings of this task. */
              mean_rating: number;
            };
          };
        };
      };
    };
  };
  "/api/evolved": {
    /** Self-evolution files
     *
     * Self-evolution files, newest first; none if the host stores no files. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Files, newest first. */
              files: {
                /** Name of the file. */
                name: string;

                /** Size in bytes. */
                bytes: number;

                /** SHA-256 (hex) of the text. */
                sha256: string;

                /** Time of the last write. */
                modified_at: string;

                /** Kind of file, by its name. */
                kind: "retrospective" | "report" | "other";
              }[];
            };
          };
        };
      };
    };
  };
  "/api/evolved/{file}": {
    /** One self-evolution file
     *
     * A file with the service's reports, as text. */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** Name of the file. */
          file: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: { 200: { content: { "text/markdown": string; "text/plain": string } } };
    };
  };
  "/api/l1l5_trend": {
    /** Levels of autonomy by day
     *
     * Decisions by UTC day and level: people alone (L1) to the intent's rules (L4); L5 is drift. */
    get: {
      parameters: {
        query?: {
          /** Number of UTC days, including today. */
          days?: number | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Meaning of each level. */
              levels: {
                /** Which level. */
                level: "L1" | "L2" | "L3" | "L4" | "L5";

                /** Description of the level. */
                meaning: string;
              }[];

              /** Period of one point, in UTC. */
              bucket: "day";

              /** A row for each day, oldest first; zeros without a decision. */
              points: {
                /** A person proposed and a person decided. */
                L1: number;

                /** A person edited a model's draft and a person decided. */
                L2: number;

                /** An agent, a model or a peer proposed and a person decided. */
                L3: number;

                /** A standing rule or a mandate decided. */
                L4: number;

                /** The host product changed with neither: drift. */
                L5: number;

                /** Decisions on proposals under a name that is merely claimed. */
                unattributed: number;

                /** The day, in UTC. */
                date: string;
              }[];

              /** The sums over all days shown. */
              totals: {
                /** A person proposed and a person decided. */
                L1: number;

                /** A person edited a model's draft and a person decided. */
                L2: number;

                /** An agent, a model or a peer proposed and a person decided. */
                L3: number;

                /** A standing rule or a mandate decided. */
                L4: number;

                /** The host product changed with neither: drift. */
                L5: number;

                /** Decisions on proposals under a name that is merely claimed. */
                unattributed: number;
              };
            };
          };
        };
      };
    };
  };
  "/api/action/run-now": {
    /** Run an action now
     *
     * Runs a cycle or another action now and answers when it has ended. */
    post: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** The action to run. */
            action?:
              | "cycle"
              | "verify_audit"
              | "check_drift"
              | "evaluate_outcomes"
              | "sync_peers"
              | "run_next_task"
              | "write_report"
              | "checkpoint"
              | "rebuild"
              | undefined;

            /** The time zone of the week of write_report. */
            tz?: string | undefined;
          }
        >;
      };
      responses: { 200: { content: { "application/json": components["schemas"]["ActionRun"] } } };
    };
  };
  "/api/action/list": {
    /** Action history
     *
     * The actions that were run, newest first, and the names of all there are. */
    get: {
      parameters: {
        query?: {
          /** Maximum number of runs. */
          limit?: number | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Runs, newest first. */
              actions: components["schemas"]["ActionRun"][];

              /** Every action there is. */
              available: components["schemas"]["ActionName"][];
            };
          };
        };
      };
    };
  };
  "/api/peers": {
    /** Peers of the cross-host link
     *
     * Linked instances, and this one as they see it. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** A row for each peer. */
              peers: components["schemas"]["Peer"][];

              /** This node as they see it. */
              self: {
                /** Id of this node; null without a link. */
                peer_id: string | null;

                /** This instance; null without a product. */
                instance_id: string | null;

                /** Product of this node; null without one. */
                product_id: string | null;

                /** Product type; null if not stated. */
                product_type: string | null;

                /** Address for peers; null without a link. */
                address: string | null;
              };
            };
          };
        };
      };
    };
  };
  "/api/peer/query": {
    /** Ask peers
     *
     * Sends a read-only request to one peer or to all. */
    post: {
      parameters: {
        query: {
          /** A path to read at the peer, or the name of a message. */
          path:
            | "/api/state"
            | "/api/capabilities"
            | "/api/product/identity"
            | "/api/product/co-evolution"
            | "/api/l1l5_trend"
            | "query_product_identity"
            | "query_product_evolution"
            | "share_evolution_insight"
            | "get_checkpoint";

          /** The only method: peers are only read. */
          method?: "GET" | undefined;

          /** peer_id or address of one peer; absent: all peers. */
          peer?: string | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** An answer for each peer. */
              results: {
                /** The peer that answers; null if unknown. */
                peer_id: string | null;

                /** Address of the request. */
                address: string;

                /** HTTP status of the answer; 503 or 504 if none came. */
                status: number;

                /** Answer: any JSON. */
                body: unknown;
              }[];
            };
          };
        };
      };
    };
  };
  "/ofrep/v1/evaluate/flags/{key}": {
    /** One value as a feature flag
     *
     * OpenFeature's remote evaluation of one flag, for the tenant in the targeting key. */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** The target; slashes need not be encoded. */
          key: string;
        };
        cookie?: never;
      };
      requestBody?: {
        content: Record<
          "application/json",
          { context?: components["schemas"]["FlagContext"] | undefined } & Record<string, unknown>
        >;
      };
      responses: { 200: { content: { "application/json": components["schemas"]["FlagValue"] } } };
    };
  };
  "/ofrep/v1/evaluate/flags": {
    /** All values of a tenant as feature flags
     *
     * OpenFeature's remote evaluation of all flags, for the tenant in the targeting key. */
    post: {
      parameters: {
        query?: never;
        header?: {
          /** ETag of the caller's copy: 304 while current; for a change only with wait. */
          "If-None-Match"?: string | undefined;
        };
        path?: never;
        cookie?: never;
      };
      requestBody?: {
        content: Record<
          "application/json",
          { context?: components["schemas"]["FlagContext"] | undefined } & Record<string, unknown>
        >;
      };
      responses: {
        200: {
          content: {
            "application/json": {
              /** Each target, by key. */
              flags: (components["schemas"]["FlagValue"] | components["schemas"]["FlagError"])[];
            };
          };
        };
      };
    };
  };
  "/mcp": {
    /** Model Context Protocol
     *
     * The Model Context Protocol over HTTP. An agent with its secret proposes. */
    post: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody: {
        content: Record<
          "application/json",
          {
            /** Version of JSON-RPC. */
            jsonrpc: "2.0";

            /** Repeated in the answer. */
            id?: string | number | undefined;

            /** Such as tools/list or tools/call. */
            method: string;

            /** Parameters of the method. */
            params?: Record<string, unknown> | undefined;
          }
        >;
      };
      responses: { 200: { content: { "application/json": components["schemas"]["RpcAnswer"] } }; 202: { content: {} } };
    };
  };
  "/api/gate": {
    /** Ask whether a release is consented to
     *
     * For the tool that deploys. Writes nothing. */
    get: {
      parameters: {
        query: {
          /** The release, such as `deploy/<repository id>/<environment>`. */
          target: string;

          /** The tenant. */
          tenant_id: string;

          /** The full commit id. */
          head: string;

          /** `status`: 200, 503 or 403 says the state too. */
          answer?: "status" | undefined;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: { 200: { content: { "application/json": components["schemas"]["GateAnswer"] } } };
    };

    /** Ask for a release, on record
     *
     * As GET; records the answer, once for each caller and head. Needs the admin token or a CI token. */
    post: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody: {
        content: Record<
          "application/json" | "application/x-www-form-urlencoded",
          {
            /** The release, such as `deploy/<repository id>/<environment>`. */
            target: string;

            /** The tenant. */
            tenant_id: string;

            /** The full commit id. */
            head: string;

            /** `status`: 200, 503 or 403 says the state too. */
            answer?: "status" | undefined;
          }
        >;
      };
      responses: { 200: { content: { "application/json": components["schemas"]["GateAnswer"] } } };
    };
  };
  "/api/gate/github": {
    /** Webhook of a GitHub App: a deployment waits for consent
     *
     * Stores a signed `deployment_protection_rule`; the decision is posted to GitHub. Others are ignored. */
    post: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody: { content: Record<"application/json", Record<string, unknown>> };
      responses: {
        200: {
          content: {
            "application/json": {
              /** True for a deployment that will be answered. */
              accepted: boolean;
            };
          };
        };
      };
    };
  };
  "/api/product/changes/{change_id}/attestation": {
    /** Attestation of a change in force
     *
     * An in-toto Statement in a DSSE envelope, for cosign and other verifiers. */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** Id of the change. */
          change_id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** `application/vnd.in-toto+json` */
              payloadType: string;

              /** The Statement, as base64 of its JSON. */
              payload: string;

              /** A signature. */
              signatures: {
                /** SHA-256 (hex) of the key's SPKI. */
                keyid: string;

                /** Ed25519 signature, as base64. */
                sig: string;
              }[];
            };
          };
        };
      };
    };
  };
  "/add-checkpoint": {
    /** Cosigns a checkpoint of another log, as a witness of it
     *
     * Cosigns the checkpoint of another log (C2SP tlog-witness). */
    post: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody: { content: Record<"text/plain", string> };
      responses: { 200: { content: { "text/plain": string; "text/x.tlog.size": string } } };
    };
  };
  "/{origin_hash}/checkpoint": {
    /** The last checkpoint that this witness cosigned of another log
     *
     * The last checkpoint of a watched log that this witness cosigned. */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** SHA-256 (hex) of the log's origin. */
          origin_hash: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: { 200: { content: { "text/plain": string } } };
    };
  };
  "/api/whoami": {
    /** Who the caller is
     *
     * The caller's name, how it is known, and allowed actions. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** Caller; null if unnamed. */
              name: string | null;

              /** Kind of caller. */
              kind: "person" | "agent" | "unknown";

              /** By the proxy, its signed token, an agent's secret or the admin token; null: not known. */
              authenticated: "proxy" | "jwt" | "agent" | "token" | null;

              /** Actions that the caller's rights allow. */
              may: ("read" | "propose" | "withdraw" | "approve" | "deny" | "apply" | "rollback" | "kpi")[];

              /** Keys of this person in the intent. */
              keys: {
                /** A passkey or an SSH key. */
                type: "webauthn" | "ssh";

                /** The passkey's id, base64url; absent for SSH. */
                credential_id?: string;
              }[];
            };
          };
        };
      };
    };
  };
  "/livez": {
    /** Liveness
     *
     * Answers while the process runs, for a supervisor. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: {
        200: {
          content: {
            "application/json": {
              /** The process runs. */
              status: "ok";
            };
          };
        };
      };
    };
  };
  "/readyz": {
    /** Readiness
     *
     * Tells a load balancer if the service takes writes. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: { 200: { content: { "application/json": components["schemas"]["Readiness"] } } };
    };
  };
  "/openapi.json": {
    /** This API as OpenAPI 3.1
     *
     * This document, made from the declarations by which requests are checked. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: { 200: { content: { "application/json": Record<string, unknown> } } };
    };
  };
  "/docs": {
    /** This API as a page
     *
     * The API as a page to read, without scripts. */
    get: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: { 200: { content: { "text/html": string } } };
    };
  };
}

/** Schemas that answers share. */
export interface components {
  schemas: {
    /** The error for people and programs, with its remedy. */
    Error: {
      /** A sentence for people. */
      error: string;

      /** A stable word for programs. */
      code: string;

      /** The HTTP status. */
      status: number;

      /** Names the request in the service's log. */
      request_id: string;

      /** For invalid_field: each field with its fault. */
      fields?: {
        /** Which field; body for the whole. */
        field: string;

        /** The fault of the field. */
        message: string;
      }[];

      /** The status of the change as it is. */
      current_status?: string;

      /** Actions that the change allows now. */
      allowed?: string[];
    };

    /** Which product this instance governs, and which instance it is. */
    ProductInstanceIdentity: {
      /** The product, as its intent names it. */
      product_id: string;

      /** This instance of the service. */
      instance_id: string;

      /** The node that it runs on. */
      node_id: string;

      /** An instance governs one product and no other. */
      binding_mode: "one_product_one_svc";
    };

    /** The intent in force: which product is governed, and by which rules. */
    ProductIntent: {
      /** The product that is governed. */
      product_id: string;

      /** Product type; null if not stated. */
      product_type: string | null;

      /** Version of the intent, as its authors count. */
      version: string;

      /** Rises with each intent; a lower one than the log's is rejected. */
      update_epoch: number;

      /** Person who put the intent in force. */
      approved_by: string;

      /** SHA-256 (hex) of the intent as RFC 8785 JSON. */
      manifest_hash: string;

      /** The rules in force with every default; docs/product_intent.schema.json lists the fields. */
      policy: Record<string, unknown>;

      /** What people sign with, by name in lower case; whoever stands here must sign. */
      keys: Record<
        string,
        {
          /** Id of the key, as audit entries name it. */
          id: string;

          /** A passkey or an SSH key. */
          type: "webauthn" | "ssh";

          /** The passkey's id, base64url; absent for SSH. */
          credential_id?: string;

          /** The host name the passkey is for; absent for SSH. */
          rp_id?: string;

          /** Origins of the passkey; absent: the host name only. */
          origins?: string[];

          /** Whether it signs without a person present. */
          unattended?: boolean;
        }[]
      >;

      /** The adapter to the host product; null without one. */
      adapter: {
        /** Which adapter. */
        name: string;

        /** failing when its last operation failed. */
        status: "ready" | "failing";

        /** Why; null while ready. */
        last_error: string | null;

        /** Each of several target systems. */
        systems?: {
          /** Its name. */
          name: string;

          /** failing while it cannot be used. */
          status: "ready" | "failing";

          /** Why; null while ready. */
          last_error: string | null;

          /** Patterns of its targets. */
          match: string[];
        }[];
      } | null;

      /** When a KPI was last fed; null before. */
      last_kpi_at: string | null;
    };

    /** A change with its decisions. Fields left out are null, never 0. */
    Change: {
      change_id: components["schemas"]["ChangeId"];
      tenant_id: components["schemas"]["ChangeTenantId"];
      kind: components["schemas"]["ChangeKind"];
      target: components["schemas"]["ChangeTarget"];

      /** New value of the target: any JSON; absent when the change sets nothing. */
      value?: unknown;
      summary: components["schemas"]["ChangeSummary"];

      /** Reason for approvers; may be empty. */
      rationale: string;
      expected_delta_k: components["schemas"]["ChangeExpectedDeltaK"];
      affected_users: components["schemas"]["ChangeAffectedUsers"];
      reversible: components["schemas"]["ChangeReversible"];
      tier: components["schemas"]["ChangeTier"];
      risk: components["schemas"]["ChangeRisk"];
      unstated?: components["schemas"]["ChangeUnstated"];

      /** Why it is not minor, if minor was requested. */
      tier_reason?: string;
      sets_nothing?: components["schemas"]["ChangeSetsNothing"];
      value_hint?: components["schemas"]["ChangeValueHint"];
      kpi: components["schemas"]["ChangeKpi"];
      proposer: components["schemas"]["ChangeProposer"];
      proposer_kind: components["schemas"]["ChangeProposerKind"];
      asked_by?: components["schemas"]["ChangeAskedBy"];
      status: components["schemas"]["ChangeStatus"];
      resolution: components["schemas"]["ChangeResolution"];
      created_at: components["schemas"]["ChangeCreatedAt"];

      /** Who decided last; policy:minor is the intent itself, null before any decision. */
      approver: string | null;

      /** Note of the last decision; null before any. */
      approval_note: string | null;
      approvals: components["schemas"]["ChangeApprovals"];
      required_approvers: components["schemas"]["ChangeRequiredApprovers"];
      decided_at: components["schemas"]["ChangeDecidedAt"];
      applied_at: components["schemas"]["ChangeAppliedAt"];
      rolled_back_at: components["schemas"]["ChangeRolledBackAt"];
      apply_when?: components["schemas"]["ChangeApplyWhen"];
      automation_stopped?: components["schemas"]["ChangeAutomationStopped"];

      /** Entries of a plan. */
      sets?: {
        /** Its tenant. */
        tenant_id: string;

        /** Its target. */
        target: string;

        /** New value: any JSON; absent once erased. */
        value?: unknown;
      }[];

      /** The change whose value it promotes. */
      promotes?: string;

      /** The plan of its rollout. */
      stages?: Record<string, unknown>;

      /** How far the rollout is. */
      exposure?: {
        /** Its step, from 0. */
        step: number;

        /** Share of users, of 10,000. */
        share: number;

        /** Since when. */
        since: string;

        /** Why it waits; null at the end. */
        waits_for: string | null;
      };

      /** The earlier change that it revises, if stated. */
      supersedes?: string;

      /** Where each value is set; absent without a target system. */
      places?: components["schemas"]["Place"][];

      /** For a minor change: digests at its proposal. */
      seen_by_policy?: string[];
      review?: components["schemas"]["Review"];

      /** Notes added later; absent if none. */
      late_notes?: components["schemas"]["LateNote"][];

      /** Present once its content was erased. */
      erased?: {
        /** When it was erased. */
        at: string;

        /** Id of the audit entry that says so. */
        entry: number;

        /** SHA-256 (hex) of the remaining content. */
        digest: string;
      };

      /** SHA-256 (hex) of the content that consent is given to. */
      digest: string;

      /** Rises with every step; the ETag of the change. */
      revision: number;
    };

    /** A consent to a change. Different names count towards the quorum. */
    Approval: {
      /** Who consented, as they named themselves. */
      approver: string;

      /** Note; may be empty. */
      note: string;

      /** When it was recorded. */
      at: string;

      /** Given in an emergency, for which alone it counts; absent otherwise. */
      emergency?: true;

      /** Digests of what the approver saw at its places. */
      seen?: string[];

      /** Id of the signing key; absent if unsigned. */
      key?: string;

      /** Groups of the identity provider that the intent asked for. */
      idp?: string[];

      /** Present if its mandate is not active. */
      inactive?: true;
    };

    /** Place where a value is set. */
    Place: {
      /** Its tenant. */
      tenant_id: string;

      /** Its target, as proposed. */
      target: string;

      /** Name of the target system. */
      system: string;

      /** Type, address without credentials, and key. */
      place: string;
    };

    /** The review of an emergency consent. */
    Review: {
      /** By when it should be reviewed. */
      due_at: string;

      /** Verdict of the review; null while due. */
      verdict: "accepted" | "not_accepted" | null;

      /** Who reviewed it; null while it is due. */
      approver: string | null;

      /** Note of the review; null while due. */
      note: string | null;

      /** When it was reviewed; null while it is due. */
      at: string | null;
    };

    /** A note added after the decision. */
    LateNote: {
      /** The missing item. */
      item: "rationale" | "note";

      /** The words. */
      note: string;

      /** Who said it. */
      actor: string | null;

      /** When. */
      at: string;
    };

    /** An entry of the audit log; keep it as a receipt. */
    AuditEntry: {
      /** Name of the log. */
      origin: string;

      /** Number of the entry, from 1 without gaps. */
      id: number;

      /** Time of the entry: RFC 3339, UTC. */
      timestamp: string;

      /** The event. */
      event_type:
        | "kpi_refreshed"
        | "change_proposed"
        | "consent_decision"
        | "change_applied"
        | "change_rolled_back"
        | "change_apply_failed"
        | "change_rollback_failed"
        | "change_drifted"
        | "proposal_refused"
        | "intent_in_force"
        | "emergency_reviewed"
        | "service_frozen"
        | "service_unfrozen"
        | "record_rebuilt"
        | "clock_accepted"
        | "content_erased"
        | "note_added"
        | "store_moved"
        | "loss_accepted"
        | "targets_in_force"
        | "value_restored"
        | "automation_stopped"
        | "stage_advanced"
        | "stage_held"
        | "stage_resumed"
        | "stage_stopped"
        | "release_checked"
        | "mandate_signed"
        | "mandate_narrowed"
        | "mandate_suspended"
        | "mandate_resumed"
        | "mandate_ended";

      /** Id of the change; empty if none. */
      change_id: string;

      /** Tenant of the change; empty if none. */
      tenant: string;

      /** Facts of the event as JSON text, whose bytes the hash covers. */
      detail: string;

      /** current_hash of the entry before; 64 zeros for the first. */
      previous_hash: string;

      /** SHA-256 (hex) over all fields above: the chain. */
      current_hash: string;
    };

    /** Signature of the decision's statement; in a form, JSON text. People with keys must sign. */
    Proof:
      | {
          /** A passkey signed. */
          type: "webauthn";

          /** Id of the passkey, base64url without padding. */
          credential_id: string;

          /** Authenticator data, base64url. */
          authenticator_data: string;

          /** Client data of the browser, base64url. */
          client_data_json: string;

          /** The signature over both, base64url. */
          signature: string;
        }
      | {
          /** An SSH key signed. */
          type: "ssh";

          /** Armoured SSHSIG, as ssh-keygen -Y sign -n countersign-consent makes it. */
          signature: string;
        };

    /** The time in the signed statement, within ten minutes of now; goes with proof. */
    SignedAt: string;

    /** A change that waits for consent or for its apply. */
    AwaitingChange: {
      change_id: components["schemas"]["ChangeId"];
      status: components["schemas"]["ChangeStatus"];
      tier: components["schemas"]["ChangeTier"];
      target: components["schemas"]["ChangeTarget"];
      summary: components["schemas"]["ChangeSummary"];
      expected_delta_k: components["schemas"]["ChangeExpectedDeltaK"];
      affected_users: components["schemas"]["ChangeAffectedUsers"];
      unstated?: components["schemas"]["ChangeUnstated"];
      sets_nothing?: components["schemas"]["ChangeSetsNothing"];
      value_hint?: components["schemas"]["ChangeValueHint"];
      apply_when?: components["schemas"]["ChangeApplyWhen"];
      automation_stopped?: components["schemas"]["ChangeAutomationStopped"];
      proposer_kind: components["schemas"]["ChangeProposerKind"];
      asked_by?: components["schemas"]["ChangeAskedBy"];
      required_approvers: components["schemas"]["ChangeRequiredApprovers"];
      approvals: components["schemas"]["ChangeApprovals"];

      /** Missing consents, by rule. */
      missing: components["schemas"]["MissingConsent"][];

      /** Gates of its apply now. */
      blocked_by: components["schemas"]["Gate"][];
    };

    /** Consent that a rule of the intent still asks for. */
    MissingConsent: {
      /** Which rule asks: required_approvers, or owners with the targets of the rule. */
      rule: string;

      /** How many more must consent. */
      count: number;

      /** Who may; empty: anybody. */
      of: string[];

      /** The mandate that approved it and is not active. */
      mandate?: string;

      /** Present when fewer are left who may than are missing. */
      unreachable?: true;
    };

    /** A condition between a change and its apply, with its current state. */
    Gate: {
      /** Requirement on the change. */
      gate:
        | "consent"
        | "permission"
        | "deadline"
        | "owners"
        | "forbidden_target"
        | "value_not_allowed"
        | "target_conflict"
        | "target_moved"
        | "review"
        | "freeze"
        | "window"
        | "promotion"
        | "operation"
        | "guardrail"
        | "reversible"
        | "automation_stopped";

      /** Whether it passes, blocks the apply, or only warns. */
      state: "pass" | "block" | "warn";

      /** Why, in a sentence. */
      message: string;
    };

    /** Effect of a change at a peer, as received here. */
    Insight: components["schemas"]["SharedInsight"] & {
      /** Time of receipt. */
      received_at: string;

      /** Weight here: 1 of the same product, 0.55 of the same product type. */
      trust: number;

      /** The node that sent it. */
      peer_id: string;
    };

    /** Another instance, linked with this one. */
    Peer: {
      /** Id of the peer; null before the first contact. */
      peer_id: string | null;

      /** Instance of the peer; null before the first contact. */
      instance_id: string | null;

      /** Host and port of the peer. */
      address: string;

      /** Connection; unknown: not tried or not seen since the start. */
      state: "up" | "down" | "unknown";

      /** Product of the peer; null if unknown. */
      product_id: string | null;

      /** Product type; null if unknown. */
      product_type: string | null;

      /** Relation of the two products; null if unknown. */
      relation: "same_product" | "same_product_type" | "other" | null;

      /** Weight of its insights: 1, 0.55, or 0 if they are not stored; null if unknown. */
      trust: number | null;

      /** Time of its last message; null before the first. */
      last_seen_at: string | null;

      /** Round trip in milliseconds; null when not measured. */
      rtt_ms: number | null;

      /** rewritten: its log does not continue the stored one; lost: a person accepted that. */
      log: "consistent" | "lost" | "rewritten" | "unknown";

      /** Reason for that result; null without one. */
      log_reason: string | null;
    };

    /** Effect of a change, without names of tenants or people. */
    SharedInsight: {
      /** Id of the insight, made by the node where the change was applied. */
      insight_id: string;

      /** Instance that applied the change. */
      origin_instance_id: string;

      /** The product that was changed. */
      product_id: string;

      /** Product type; null if not stated. */
      product_type: string | null;
      kind: components["schemas"]["ChangeKind"];

      /** Target of the change. */
      target: string;

      /** The KPI that both deltas are about. */
      kpi: string;

      /** A sentence made of these fields. */
      summary: string;

      /** Gain that was expected; null when not stated. */
      expected_delta_k: number | null;

      /** Gain that was seen, its sign turned so that up is good; null when not measured. */
      realised_delta: number | null;

      /** Number of other changes that share the movement. */
      shared_count: number;

      /** Comparison of the two deltas. */
      verdict: "met" | "missed" | "regressed" | "inconclusive";

      /** Time of the last KPI value. */
      observed_at: string;

      /** A correlation is no proof of a cause. */
      basis: "correlation";
    };

    /** Expected and actual effect of an applied change. */
    Outcome: {
      /** The applied change. */
      change_id: string;

      /** The change's KPI; null without one. */
      kpi: string | null;

      /** Scope of the KPI; product: all tenants. */
      scope: "tenant" | "product" | "other_tenant" | null;

      /** When it was applied. */
      applied_at: string;

      /** Gain that was expected, in units of the KPI; null when not stated. */
      expected_delta_k: number | null;

      /** The KPI's value at the apply; null when it was not known. */
      baseline: number | null;

      /** How old that was at the apply. */
      baseline_age_hours: number | null;

      /** How it moved in the 30 UTC days before the apply, or since its first feed; up is good. */
      trend_before: number | null;

      /** Over how many days that was. */
      trend_days: number | null;

      /** In which direction the KPI is good; null without a KPI. */
      good: "up" | "down" | null;

      /** Its value now, or at the end; null before the first feed. */
      current: number | null;

      /** current - baseline, its sign turned so that up is good; null while one is unknown. */
      realised_delta: number | null;

      /** Other changes on this KPI whose time overlaps, 10 at most: the movement is theirs as well. */
      shared_with: string[];

      /** How many these are in all. */
      shared_count: number;

      /** Gain compared with expectation; too_early before judged_from. */
      verdict: "met" | "missed" | "regressed" | "inconclusive" | "too_early";

      /** The horizon: 7 days after the apply, or the KPI's deadline if sooner. */
      judged_from: string;

      /** open while feeds can change the verdict; then final. */
      state: "open" | "final";

      /** Why it is final: horizon reached, rolled back, or its target changed; null while open. */
      ended_by: "horizon" | "rollback" | "guardrail" | "change" | null;

      /** The change that took its target; null unless that ended it. */
      replaced_by: string | null;

      /** Movement after the end; does not change the verdict. */
      later: {
        /** When the KPI was last fed. */
        at: string;

        /** Its value then. */
        current: number;

        /** current - baseline, its sign turned so that up is good. */
        realised_delta: number | null;

        /** The same in words. */
        words: string;
      } | null;

      /** Every other KPI that moved between the apply and the end. */
      side_effects: {
        /** A KPI that the change does not name. */
        kpi: string;

        /** Its value at the apply. */
        from: number;

        /** Its value now, or at the end. */
        to: number;

        /** Whether that is good. */
        effect: "better" | "worse";

        /** The same in words. */
        words: string;
      }[];

      /** Promised and measured movement in a sentence, each with its direction. */
      words: string;

      /** As of when this is so. */
      as_of: string;

      /** Bounds of a rollout. */
      measured?: {
        /** A watched KPI. */
        kpi: string;

        /** Newest step with figures. */
        step: number;

        /** In parts of the control's mean. */
        relative?: true;

        /** Below 0: better; null: no bound. */
        worse_at_least: number | null;

        /** The other bound. */
        worse_at_most: number | null;
      }[];

      /** `correlation`: no proof of a cause; `measurement`: a rollout, against users without it. */
      basis: "correlation" | "measurement";
    };

    /** Who consented, and how that is known. */
    Signer: {
      /** Who consented. */
      approver: string;

      /** How that is known: signed, by proxy, by its token, or claimed; null: the service itself. */
      authenticated: "proxy" | "jwt" | "agent" | "signature" | "signature_unattended" | "token" | "claimed" | null;

      /** Id of the key that signed; null: not signed. */
      key: string | null;
    };

    /** A change whose value the host product no longer has. */
    DriftEpisode: {
      /** The drifted change. */
      change_id: string;

      /** Its target. */
      target: string;

      /** Its tenant. */
      tenant_id: string;

      /** drifted: the host holds something else; missing: nothing. */
      state: "drifted" | "missing";

      /** State of the change at the host product. */
      host: "applied" | "rolled_back" | "absent" | "unknown";

      /** SHA-256 (hex) of the canonical JSON that it holds; null: nothing; absent: not known. */
      held_digest?: string | null;

      /** When it was noticed. */
      since: string;

      /** No restore before then: three were undone within an hour. */
      contested_until?: string;
    };

    /** Value of a place when it was read. */
    Seen: {
      /** The place that was read. */
      place: string;

      /** SHA-256 (hex) of its RFC 8785 JSON; absent: it holds nothing. */
      digest: string;

      /** The version that its system gives it. */
      version: string;

      /** When it was read. */
      at: string;
    };

    /** Effects of similar changes at peers. */
    Evidence: {
      /** The KPI of the insights. */
      kpi: string;

      /** target: insights on the same target; prefix: only on targets with the same parent. */
      match: "target" | "prefix";

      /** Number of insights. */
      n: number;

      /** Number of insights that share their movement. */
      shared: number;

      /** Number of insights of equal trust with the same weight. */
      effective_n: number;

      /** Their mean gain, weighed by trust; up is good. */
      mean_delta: number;

      /** Number of insights by verdict. */
      verdicts: {
        /** Insights of this verdict. */
        met: number;

        /** Insights of this verdict. */
        missed: number;

        /** Insights of this verdict. */
        regressed: number;

        /** Insights of this verdict. */
        inconclusive: number;
      };

      /** Ids of the insights. */
      insight_ids: string[];

      /** A correlation is no proof of a cause. */
      basis: "correlation";
    };

    /** A recorded change with its receipt. */
    Proposal: components["schemas"]["Change"] & {
      /** Ids of other live changes on the same tenant and target. */
      conflicts: string[];

      /** Needed consents, by rule. */
      missing: components["schemas"]["MissingConsent"][];

      /** Reasons why no mandate of its agent approves it: mandate_id, bound, message. */
      outside?: Record<string, string>[];

      /** Present if the target is recorded in its first applied spelling. */
      target_spelling?: string;
      audit_entry: components["schemas"]["AuditEntry"];
    };

    /** A decision that was recorded, with its receipt. */
    Decision: {
      /** Id of the change. */
      change_id: string;

      /** Its status after the decision. */
      status: "proposed" | "pending_consent" | "approved" | "applied" | "rolled_back" | "denied";

      /** The recorded decision. */
      decision: "approved" | "denied" | "withdrawn" | "expired" | "revoked" | "lapsed";

      /** All consents so far, oldest first. */
      approvals: components["schemas"]["Approval"][];

      /** After an approval below the quorum: missing consents. */
      missing?: components["schemas"]["MissingConsent"][];
      change: components["schemas"]["Change"];
      audit_entry: components["schemas"]["AuditEntry"];
    };

    /** An apply or rollback, or its dry run. */
    Operation: {
      /** Id of the change. */
      change_id: string;

      /** Its status now. */
      status: "proposed" | "pending_consent" | "approved" | "applied" | "rolled_back" | "denied";

      /** Present for a dry run. */
      dry_run?: true;
      change: components["schemas"]["Change"];

      /** Result of the host product, or of a dry run; null without adapter. */
      adapter: {
        /** Which adapter. */
        name: string;

        /** Result in a word. */
        result: string;

        /** Details of the adapter: any JSON. */
        detail?: unknown;

        /** For a dry run: current and future value, any JSON. */
        preview?: unknown;

        /** For a dry run: state at the host product; null if unavailable. */
        host?: "applied" | "rolled_back" | "absent" | "unknown" | null;

        /** For a dry run: current value; null: none; absent: unknown. */
        holds?: {
          /** Any JSON. */
          value: unknown;
        } | null;

        /** Each entry of a plan: tenant_id, target, and the same. */
        sets?: Record<string, unknown>[];
      } | null;

      /** For a dry run: current values of its places. */
      seen?: components["schemas"]["Seen"][];

      /** The receipt; null for a dry run. */
      audit_entry: components["schemas"]["AuditEntry"] | null;
    };

    /** Whether applies are held back, with the receipt. */
    FreezeState: {
      /** Whether applies are held back now. */
      frozen: boolean;

      /** The freeze; null if none. */
      freeze: components["schemas"]["Freeze"] | null;
      audit_entry: components["schemas"]["AuditEntry"];
    };

    /** A freeze: every apply is held back but for emergencies. */
    Freeze: {
      /** Who froze the service. */
      actor: string;

      /** Why. */
      note: string;

      /** End (RFC 3339); null: until a person lifts it. */
      until: string | null;

      /** Since when. */
      at: string;
    };

    /** A mandate: signed, bounded, standing consent. Other bounds are further members. */
    Mandate: {
      /** Its id. */
      mandate_id: string;

      /** Rises when it is narrowed, suspended or ended. */
      revision: number;

      /** Its state now. */
      state: "draft" | "active" | "suspended" | "ended";

      /** Its agent. */
      agent: string;

      /** Patterns of its targets. */
      targets: string[];

      /** Kinds of changes. */
      kinds: string[];

      /** A list of tenants, or all. */
      tenants: "all" | string[];

      /** Its end. */
      until: string;

      /** The note of its draft. */
      note: string;

      /** Target systems that it reaches. */
      systems: Record<string, unknown>[];

      /** Signatures, oldest first: approver and at. */
      signatures: Record<string, string>[];

      /** Signatures that it or its resumption lacks. */
      missing: components["schemas"]["MissingConsent"][];

      /** Changes approved today (UTC day), and open: neither applied nor denied. */
      used: Record<string, number>;

      /** The room that is left: today and open. */
      left: Record<string, number>;

      /** Its reason and at; null unless suspended. */
      suspension: Record<string, unknown> | null;

      /** Its reason and at; null before. */
      ended: Record<string, unknown> | null;

      /** Reason why it approves nothing; null if active. */
      inactive: string | null;
    } & Record<string, unknown>;

    /** Changes that wait in one way. */
    InboxList: {
      /** How many there are. */
      total: number;

      /** The first of them. */
      items: components["schemas"]["InboxItem"][];
    };

    /** A change that waits for a person. */
    InboxItem: {
      change_id: components["schemas"]["ChangeId"];
      status: components["schemas"]["ChangeStatus"];
      tenant_id: components["schemas"]["ChangeTenantId"];
      kind: components["schemas"]["ChangeKind"];
      target: components["schemas"]["ChangeTarget"];
      tier: components["schemas"]["ChangeTier"];
      risk: components["schemas"]["ChangeRisk"];
      reversible: components["schemas"]["ChangeReversible"];
      unstated?: components["schemas"]["ChangeUnstated"];
      sets_nothing?: components["schemas"]["ChangeSetsNothing"];
      value_hint?: components["schemas"]["ChangeValueHint"];
      apply_when?: components["schemas"]["ChangeApplyWhen"];
      automation_stopped?: components["schemas"]["ChangeAutomationStopped"];
      affected_users: components["schemas"]["ChangeAffectedUsers"];
      proposer: components["schemas"]["ChangeProposer"];
      proposer_kind: components["schemas"]["ChangeProposerKind"];
      asked_by?: components["schemas"]["ChangeAskedBy"];
      approvals: components["schemas"]["ChangeApprovals"];
      required_approvers: components["schemas"]["ChangeRequiredApprovers"];

      /** Its summary. */
      title: string;

      /** How many targets a plan sets. */
      targets?: number;

      /** Since when it waits: proposed, approved, applied in an emergency, or seen to drift. */
      since: string;

      /** Time of expiry or of the due review; null without limit. */
      expires_at: string | null;

      /** True if the person can give a consent that it still needs. */
      waits_for_you: boolean;

      /** Missing consents, by rule. */
      missing: components["schemas"]["MissingConsent"][];

      /** Gates of its apply, and warnings. */
      gates: components["schemas"]["Gate"][];

      /** State at the host product if it differs; else absent. */
      drift?: "drifted" | "missing";
    };

    /** A change that a query found. */
    FoundChange: {
      change_id: components["schemas"]["ChangeId"];
      status: components["schemas"]["ChangeStatus"];
      resolution: components["schemas"]["ChangeResolution"];
      tenant_id: components["schemas"]["ChangeTenantId"];
      kind: components["schemas"]["ChangeKind"];
      target: components["schemas"]["ChangeTarget"];
      summary: components["schemas"]["ChangeSummary"];
      tier: components["schemas"]["ChangeTier"];
      risk: components["schemas"]["ChangeRisk"];
      reversible: components["schemas"]["ChangeReversible"];
      affected_users: components["schemas"]["ChangeAffectedUsers"];
      unstated?: components["schemas"]["ChangeUnstated"];
      expected_delta_k: components["schemas"]["ChangeExpectedDeltaK"];
      kpi: components["schemas"]["ChangeKpi"];
      proposer: components["schemas"]["ChangeProposer"];
      proposer_kind: components["schemas"]["ChangeProposerKind"];
      asked_by?: components["schemas"]["ChangeAskedBy"];
      required_approvers: components["schemas"]["ChangeRequiredApprovers"];
      created_at: components["schemas"]["ChangeCreatedAt"];
      decided_at: components["schemas"]["ChangeDecidedAt"];
      applied_at: components["schemas"]["ChangeAppliedAt"];
      rolled_back_at: components["schemas"]["ChangeRolledBackAt"];

      /** Number of targets of a plan. */
      targets?: number;

      /** People who consented. */
      approvers: string[];

      /** Time of expiry or of the due review; null without limit. */
      expires_at: string | null;

      /** Verdict of its outcome; null if never applied. */
      verdict: "met" | "missed" | "regressed" | "inconclusive" | "too_early" | null;

      /** State at the host product if it differs; else null. */
      drift: "drifted" | "missing" | null;

      /** With `time`: the duration; null if an event did not happen. */
      seconds?: number | null;
    };

    /** How many tasks there are. */
    TaskStats: {
      /** Tasks that wait. */
      queued: number;

      /** Tasks at work. */
      running: number;

      /** Tasks with a result. */
      completed: number;

      /** Tasks that failed. */
      failed: number;

      /** Kept tasks with a rating. */
      rated: number;

      /** Mean over all ratings, 1 to 5; null without any. */
      mean_rating: number | null;
    };

    /** A capability of the service, or why it is missing here. */
    Capability: {
      /** What it is. */
      id: string;

      /** Area. */
      group: string;

      /** Whether it works here. */
      status: "available" | "degraded" | "disabled" | "failing";

      /** Why it does not; null when it does. */
      reason: string | null;

      /** The option that switches it on; null when it is on. */
      enable_with: string | null;
    };

    /** An observation of the service, for people. */
    GrowthRow: {
      /** Its number; rises, with gaps. */
      seq: number;

      /** When it was noticed. */
      at: string;

      /** The cycle in which it was noticed. */
      tick: number;

      /** Kind of the observation. */
      kind: string;

      /** The observation in a sentence. */
      title: string;

      /** More of it; may be empty. */
      detail: string;

      /** Id of its record; null if none. */
      ref: string | null;
    };

    /** Progress of a phase of using the service. */
    Phase: {
      /** Which phase. */
      id: "observe" | "propose" | "apply" | "recover" | "learn";

      /** Its name for people. */
      title: string;

      /** met / total, 0 to 1. */
      progress: number;

      /** Items that are met. */
      met: number;

      /** Items in all. */
      total: number;

      /** Items of the phase. */
      items: {
        /** What it is. */
        title: string;

        /** Whether it is met. */
        met: boolean;

        /** The record that tells, or how to meet it. */
        how: string;
      }[];
    };

    /** A memory that was found. */
    Memory: {
      /** Id of the memory. */
      id: string;

      /** Kind of memory. */
      kind: "proposal" | "decision" | "outcome" | "verdict" | "rollback" | "kpi" | "feedback" | "insight" | "chat";

      /** record: from the audit log; said: unverified words of a person. */
      basis: "record" | "said";

      /** Author of the decision, proposal or message; null if unnamed. */
      author: string | null;

      /** The memory in a line; words of people are quoted. */
      text: string;

      /** Time of the event. */
      at: string;

      /** Rank within one answer. */
      score: number;

      /** Id of its record; null if none. */
      ref: string | null;
    };

    /** Something the service was asked to look into, beside changes. */
    Task: {
      /** Id of the task. */
      task_id: string;

      /** The request in a line. */
      title: string;

      /** More of it; may be empty. */
      description: string;

      /** Topic: E, M, R, N or your own label; null if not stated. */
      required_dimension: string | null;

      /** A name, or a number on the scale low 1, normal 2, high 3, urgent 4. */
      priority: "low" | "normal" | "high" | "urgent" | number;

      /** How far it is. */
      status: "running" | "queued" | "completed" | "failed" | "cancelled";

      /** When it was submitted. */
      created_at: string;

      /** When it was last begun; null before. */
      started_at: string | null;

      /** When it ended; null before. */
      completed_at: string | null;

      /** The report as Markdown, or why it failed; null before. */
      result: string | null;

      /** Who worded the result; null before. */
      mode: "rules" | "llm" | null;

      /** Ratings, oldest first. */
      feedback: components["schemas"]["Feedback"][];
    };

    /** A rating of the result of a task. */
    Feedback: {
      /** 1 to 5. */
      rating: number;

      /** Note; may be empty. */
      comment: string;

      /** Rater; null if unnamed. */
      rater: string | null;

      /** When. */
      at: string;
    };

    /** A run of an action. */
    ActionRun: {
      /** Id of the run. */
      action_id: string;

      /** Name of the action that ran. */
      action: components["schemas"]["ActionName"];

      /** End of the run; disabled: not on this host; interrupted: its process ended. */
      status: "running" | "completed" | "failed" | "disabled" | "interrupted";

      /** When it began. */
      started_at: string;

      /** How long it took, in milliseconds; null while running. */
      duration_ms: number | null;

      /** Result: any JSON, cut if long. */
      result: unknown;
    };

    /** An action of the service. */
    ActionName:
      | "cycle"
      | "verify_audit"
      | "check_drift"
      | "evaluate_outcomes"
      | "sync_peers"
      | "run_next_task"
      | "write_report"
      | "checkpoint"
      | "rebuild";

    /** Tenant, and attributes of the user. */
    FlagContext: {
      /** Tenant (with `--ofrep-tenant` the user); absent: values for all. */
      targetingKey?: string;
    } & Record<string, unknown>;

    /** A flag's value. */
    FlagValue: {
      /** The flag's key: the target. */
      key: string;

      /** The value, any JSON. */
      value: unknown;

      /** `SPLIT`: by the user's share or arm. `TARGETING_MATCH`: the tenant's own value. `STATIC`: the value of all tenants. */
      reason: "SPLIT" | "STATIC" | "TARGETING_MATCH";

      /** `on`, `off`, `value`, `treated`, `control`, or the user's share; absent for a split without a user. */
      variant?: string;

      /** Source of the value: change, entry, digest, kind, tenant. During a rollout also `step`. */
      metadata: Record<string, string | number | boolean>;
    };

    /** Why there is no value. */
    FlagError: {
      /** The flag's key: the target. */
      key: string;

      /** The protocol's code. */
      errorCode: "PARSE_ERROR" | "INVALID_CONTEXT" | "FLAG_NOT_FOUND" | "GENERAL";

      /** A sentence. */
      errorDetails: string;
    };

    /** A JSON-RPC 2.0 answer of MCP. */
    RpcAnswer: {
      /** Version of JSON-RPC. */
      jsonrpc: "2.0";

      /** Id of the request; null if unreadable. */
      id: string | number | null;

      /** Result of the method, by the protocol. */
      result?: Record<string, unknown>;

      /** Why the message was not taken; absent beside a result. */
      error?: {
        /** JSON-RPC's code, or the protocol's. */
        code: number;

        /** The error in words. */
        message: string;

        /** Details that help to correct it. */
        data?: unknown;
      };
    };

    /** The answer to a question for a release. */
    GateAnswer: {
      /** `waiting` may still become `allowed`. */
      state: "allowed" | "waiting" | "refused";

      /** True for `allowed`. */
      allowed: boolean;

      /** The change that releases the head. */
      change_id: string | null;

      /** Its page in the console. */
      page: string | null;

      /** Why it is not allowed. */
      reasons: string[];
    };

    /** Readiness for writes, with its checks. */
    Readiness: {
      /** Whether writes would be taken. */
      ready: boolean;

      /** Checks by name. */
      checks: Record<
        string,
        {
          /** Whether it is as it should be. */
          ok: boolean;

          /** The fault; null if none. */
          reason: string | null;
        }
      >;
    };

    /** Fields of ProposeChange. */
    ProposeChangeFields: {
      /** Tenant of the product. */
      tenant_id: string;

      /** Kind of change; required without promotes. */
      kind?: "config" | "workflow" | "feature_flag" | "code_patch" | "experiment" | undefined;

      /** Setting, flag or workflow in the host product, compared without case; required without promotes. */
      target?: string | undefined;

      /** Summary in one line. */
      summary: string;

      /** Reason for approvers. */
      rationale?: string | undefined;

      /** Gain that you expect, in units of the KPI. */
      expected_delta_k?: number | undefined;

      /** How many users it reaches. */
      affected_users?: number | undefined;

      /** Can be undone; absent: not stated. False makes it major; minor needs true. */
      reversible?: boolean | undefined;

      /** Requested tier; minor only if the intent covers it. Absent: standard. */
      tier?: "minor" | "standard" | "major" | undefined;

      /** Absent: not stated, taken as medium. High is major. */
      risk?: "low" | "medium" | "high" | undefined;

      /** New value of the target: any JSON; in a form, JSON text. */
      value?: unknown;

      /** Makes it a plan: values that are decided on and applied together; target is its name. */
      sets?:
        | {
            /** Its tenant. */
            tenant_id: string;

            /** Its target. */
            target: string;

            /** New value: any JSON. */
            value: unknown;
          }[]
        | undefined;

      /** The KPI that expected_delta_k is about. */
      kpi?:
        | "nrr_quarterly"
        | "deal_win_rate"
        | "sales_cycle_days_p50"
        | "weekly_active_sales_pct"
        | "csat"
        | "incident_rate"
        | undefined;

      /** Proposer; absent: the proxy's person, or the agent. */
      proposer?: string | undefined;

      /** When it applies by itself: approved, or a time; absent: a person applies it. */
      apply_when?: "manual" | "approved" | string | undefined;

      /** The plan of a staged rollout: docs/rollouts.md. */
      stages?: unknown;

      /** Id of a change whose kind, target and value to copy for the tenant. */
      promotes?: string | undefined;

      /** Id of an earlier change that this one revises. */
      supersedes?: string | undefined;
    };

    /** Id of the change: chg_ and a UUIDv7, which sorts by time. */
    ChangeId: string;

    /** Status from proposal to rollback. */
    ChangeStatus: "proposed" | "pending_consent" | "approved" | "applied" | "rolled_back" | "denied";

    /** How much consent it needs: minor needs none, major needs as the intent says. */
    ChangeTier: "minor" | "standard" | "major";

    /** The setting, flag or workflow that it sets; compared without case. */
    ChangeTarget: string;

    /** Summary in one line. */
    ChangeSummary: string;

    /** Gain that the proposer expects, in units of the KPI; null when not stated. */
    ChangeExpectedDeltaK: number | null;

    /** How many users it reaches, by the proposer; null when not stated. */
    ChangeAffectedUsers: number | null;

    /** Fields that the proposal left out; they have default values. */
    ChangeUnstated: ("risk" | "reversible" | "affected_users")[];

    /** Present without value: the apply sets nothing. */
    ChangeSetsNothing: true;

    /** Present if an agent's value is text that looks like JSON. */
    ChangeValueHint: string;

    /** When it applies by itself: approved, or a time; absent: never. */
    ChangeApplyWhen: string;

    /** Present once it no longer applies by itself. */
    ChangeAutomationStopped: {
      /** When. */
      at: string;

      /** Why. */
      reason: string;
    };

    /** Kind of proposer. */
    ChangeProposerKind: "person" | "agent" | "model" | "peer" | "unknown";

    /** The person who asked a model for it. */
    ChangeAskedBy: string | null;

    /** How many distinct people had to consent when it was proposed. */
    ChangeRequiredApprovers: number;

    /** The consents that were given, oldest first. */
    ChangeApprovals: components["schemas"]["Approval"][];

    /** Kind of change. */
    ChangeKind: "config" | "workflow" | "feature_flag" | "code_patch" | "experiment";

    /** Tenant of the product. */
    ChangeTenantId: string;

    /** Risk as the proposer states it; medium, where unstated names it, is a default. */
    ChangeRisk: "low" | "medium" | "high";

    /** Can be undone, by the proposer; a default where unstated names it. */
    ChangeReversible: boolean;

    /** Proposer; null if unnamed. */
    ChangeProposer: string | null;

    /** How a denied change came to its end; null otherwise. */
    ChangeResolution: "denied" | "withdrawn" | "expired" | "revoked" | "lapsed" | null;

    /** KPI of expected_delta_k; null without one. */
    ChangeKpi: string | null;

    /** When it was proposed. */
    ChangeCreatedAt: string;

    /** When the last decision was made; null before any. */
    ChangeDecidedAt: string | null;

    /** When the host product confirmed it; null before. */
    ChangeAppliedAt: string | null;

    /** When it was taken back; null unless it was. */
    ChangeRolledBackAt: string | null;
  };
}

/** The POSTs that take an `Idempotency-Key`. */
export const KEYED: readonly string[] = [
  "/api/product/audit/accept-clock",
  "/api/product/audit/accept-loss",
  "/api/product/propose-crm-followup",
  "/api/product/propose",
  "/api/product/approve",
  "/api/product/deny",
  "/api/product/withdraw",
  "/api/product/revoke",
  "/api/product/apply",
  "/api/product/rollback",
  "/api/product/restore",
  "/api/product/review",
  "/api/product/freeze",
  "/api/product/unfreeze",
  "/api/product/erase",
  "/api/product/note",
  "/api/product/stage",
  "/api/product/kpi",
  "/api/product/mandates",
  "/api/product/mandate-sign",
  "/api/product/mandate-narrow",
  "/api/product/mandate-resume",
  "/api/product/mandate-revoke",
];
