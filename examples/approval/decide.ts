/**
 * Decides over the WebSocket: `node examples/approval/decide.ts ws://127.0.0.1:… [approve | deny]`.
 * Without a decision it shows what is pending.
 */
import { WebSocket } from "ws";

const [url, decision] = process.argv.slice(2);
if (url === undefined) {
  console.error("Which address? It is in the first line that main.ts prints.");
  process.exit(2);
}
const socket = new WebSocket(url);
socket.on("message", (data) => {
  console.log(String(data));
  const message = JSON.parse(String(data)) as { type: string; request_id?: string; status?: string };
  if (message.type === "approval.requested" && message.status === "pending" && decision !== undefined) {
    socket.send(JSON.stringify({ type: "approval.decide", request_id: message.request_id, decision }));
  }
  if (message.type === "approval.outcome" || message.type === "approval.error") socket.close();
});
socket.on("error", () => {
  console.error("No connection: does main.ts still run, and is this its address?");
  process.exitCode = 1;
});
