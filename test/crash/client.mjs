/** A client that takes changes through their lives and keeps every receipt; what was not answered it asks again. */
import { ask } from "./service.mjs";

const TARGETS = ["crm.followup", "crm.reminder", "crm.digest"];

/** A client on its own tenant. `ledger` takes the receipts; `random` decides what it does. */
export function newClient(tenant, ledger, random) {
  let count = 0;
  let step;

  const begin = (name, fields, change_id) => {
    ledger.asked[name] = (ledger.asked[name] ?? 0) + 1;
    return { name, fields: { ...fields, ...(change_id && { change_id }) }, change_id, key: `${tenant}-${++count}` };
  };
  const propose = () => {
    const target = TARGETS[Math.floor(random() * TARGETS.length)];
    const value = JSON.stringify({ made_by: `${tenant}-${count + 1}` });
    return begin("propose", { tenant_id: tenant, kind: "workflow", target, summary: "A step", value });
  };
  const next = ({ name, change_id }) => {
    if (name === "propose") return begin("approve", { approver: "ana" }, change_id);
    if (name === "approve") return begin("apply", {}, change_id);
    if (name === "apply" && random() < 0.5) return begin("rollback", {}, change_id);
    if (name !== "kpi" && random() < 0.3) return begin("kpi", { nrr_quarterly: (1 + random() / 10).toFixed(4) });
    return propose();
  };

  /** Works until the service is killed; a fault ends it too. */
  return async function work(service) {
    for (step ??= propose(); ; step = next(step)) {
      const again = step.sent;
      step.sent = true;
      const answer = await ask(service.url, `/api/product/${step.name}`, step).catch((error) => ({ error }));
      if (answer.error) {
        if (!service.killed) ledger.fault("answer", `${step.name} was not answered: ${answer.error.message}`);
        return;
      }
      const { status, body } = answer;
      if (status < 300) {
        step.change_id ??= body.change_id;
        ledger.receive(body);
      } else if (again && body.code === "illegal_transition") {
        // The start settled what the kill interrupted: the change must be where the question would have brought it.
        const reached = { approve: "approved", apply: "applied", rollback: "rolled_back" }[step.name];
        if (body.current_status !== reached)
          return ledger.fault("mismatch", `${step.change_id} is ${body.current_status} after ${step.name}`);
      } else return ledger.fault("answer", `${step.name} of ${step.change_id} was answered ${status} ${body.error}`);
    }
  };
}
