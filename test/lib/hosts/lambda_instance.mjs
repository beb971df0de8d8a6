/** Runs a Lambda instance in a process: imports the bundle, and calls its handler for each message of the parent. */
const { LAMBDA_BUNDLE, CLOCK_OFFSET_MS } = process.env;
if (CLOCK_OFFSET_MS) {
  const systemNow = Date.now;
  Date.now = () => systemNow() + Number(CLOCK_OFFSET_MS);
}
const { handler } = await import(LAMBDA_BUNDLE);
process.on("message", async ({ id, event, context }) => {
  const answer = await handler(event, context).then(
    (result) => ({ result }),
    (error) => ({ error: String(error) }),
  );
  process.send({ id, ...answer });
});
process.send("ready");
