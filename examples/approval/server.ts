import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import { approvalSockets, type ApprovalService, type Principal } from "../../src/execute/approvals/index.ts";

/** Approvals on a loopback port, for anyone who has the token in the URL. */
export async function serveApprovals(
  service: ApprovalService,
  { port, principal }: { readonly port: number; readonly principal: Principal },
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const token = crypto.randomUUID();
  const { options, accept } = approvalSockets({
    service,
    // A web application checks its session here, and lists its own pages below.
    authenticate: ({ url }) => (url.searchParams.get("token") === token ? { principal } : undefined),
    origins: [],
    allowNoOrigin: true,
  });
  const server = new WebSocketServer({ host: "127.0.0.1", port, ...options });
  server.on("connection", accept);
  await once(server, "listening");
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/?token=${token}`,
    async close() {
      for (const client of server.clients) client.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
