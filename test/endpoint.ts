import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** The URL of a server that answers by hand, until the test is over. */
export async function endpoint(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
