/** One instance of a function, as Lambda runs it: imports a bundle, and answers what its parent sends. */
const { LAMBDA_BUNDLE, CLOCK_OFFSET_MS } = process.env;
if (CLOCK_OFFSET_MS) {
  const real = Date.now;
  Date.now = () => real() + Number(CLOCK_OFFSET_MS);
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
