/** A client that runs changes from proposal to rollback and stores every receipt; it repeats requests without a response. */
import { ask } from "./service.mjs";

const TARGETS = ["crm.followup", "crm.reminder", "crm.digest"];

/** Creates a client with its own tenant. `ledger` receives the receipts; `random` decides the steps. */
export function newClient(tenant, ledger, random) {
  let count = 0;
  // The step in progress: if the service is killed, the step is sent again to the next process.
  let step;

  const newStep = (name, fields, change_id) => {
    ledger.requested[name] = (ledger.requested[name] ?? 0) + 1;
    return { name, fields: { ...fields, ...(change_id && { change_id }) }, change_id, key: `${tenant}-${++count}` };
  };
  const propose = () => {
    const target = TARGETS[Math.floor(random() * TARGETS.length)];
    const value = JSON.stringify({ made_by: `${tenant}-${count + 1}` });
    return newStep("propose", { tenant_id: tenant, kind: "workflow", target, summary: "A step", value });
  };
  const next = ({ name, change_id }) => {
    if (name === "propose") return newStep("approve", { approver: "ana" }, change_id);
    if (name === "approve") return newStep("apply", {}, change_id);
    if (name === "apply" && random() < 0.5) return newStep("rollback", {}, change_id);
    if (name !== "kpi" && random() < 0.3) return newStep("kpi", { nrr_quarterly: (1 + random() / 10).toFixed(4) });
    return propose();
  };

  /** Sends steps until the service is killed or a fault is found. */
  return async function work(service) {
    for (step ??= propose(); ; step = next(step)) {
      const isRepeated = step.sent;
      step.sent = true;
      const response = await ask(service.url, `/api/product/${step.name}`, step).catch((error) => ({ error }));
      if (response.error) {
        if (!service.killed) ledger.fault("answer", `${step.name} was not answered: ${response.error.message}`);
        return;
      }
      const { status, body } = response;
      if (status < 300) {
        step.change_id ??= body.change_id;
        ledger.receive(body);
      } else if (isRepeated && body.code === "illegal_transition") {
        // The start resolved the interrupted operation: the change must have the status that the request would have set.
        const expectedStatus = { approve: "approved", apply: "applied", rollback: "rolled_back" }[step.name];
        if (body.current_status !== expectedStatus)
          return ledger.fault("mismatch", `${step.change_id} is ${body.current_status} after ${step.name}`);
      } else return ledger.fault("answer", `${step.name} of ${step.change_id} was answered ${status} ${body.error}`);
    }
  };
}
