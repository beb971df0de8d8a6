// mail.js
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { readWebhook } from "./read_webhook.js";

const { SVC_NOTIFY_SECRET, PORT, SMTP_URL, MAIL_FROM, MAIL_TO } = process.env;

async function mail({ id, type, product_id, text, url = "" }) {
  const message = [
    `From: ${MAIL_FROM}`,
    `To: ${MAIL_TO}`,
    `Subject: ${product_id}: ${type}`,
    `Message-ID: <${id}@countersign>`,
    "MIME-Version: 1.0",
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: base64",
    "",
    ...Buffer.from(`${text}\n\n${url}\n`)
      .toString("base64")
      .match(/.{1,76}/g),
  ].join("\r\n");
  const envelope = ["--mail-from", MAIL_FROM, "--mail-rcpt", MAIL_TO, "--upload-file", "-"];
  const curl = spawn("curl", ["-sS", "--max-time", "8", SMTP_URL, ...envelope], {
    stdio: ["pipe", "inherit", "inherit"],
  });
  curl.stdin.end(message);
  const [status] = await once(curl, "close");
  if (status !== 0) throw new Error(`curl ended with exit code ${status}`);
}

const server = createServer(async (request, response) => {
  try {
    await mail(readWebhook(SVC_NOTIFY_SECRET, request.headers, await text(request)));
    response.writeHead(204).end();
  } catch (error) {
    console.error(error.message);
    response.writeHead(500).end();
  }
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
