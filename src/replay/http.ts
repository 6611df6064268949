import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { messageOf } from "../errors.ts";

export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Breaks open connections and frees the port. */
  close(): Promise<void>;
}

/** Listens on one address. An error of `handle` becomes a response with status 500, or breaks one that has begun. */
export async function listen(
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  options: { readonly host: string; readonly port: number; readonly signal: AbortSignal | undefined },
): Promise<Listening> {
  const { host, port, signal } = options;
  // Node takes any other text for the path of a socket.
  if (!Number.isInteger(Number(port))) throw new TypeError(`port has to be a number, not ${JSON.stringify(port)}`);
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: { message: messageOf(error) } });
    });
  });
  await once(server.listen(port, host), "listening");
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  if (signal?.aborted === true) await close();
  signal?.throwIfAborted();
  const onAbort = (): void => void close();
  signal?.addEventListener("abort", onAbort);
  server.once("close", () => signal?.removeEventListener("abort", onAbort));
  const address = server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return { url: `http://${name}:${address.port}`, port: address.port, close };
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  if (!response.hasHeader("content-type")) response.setHeader("content-type", "application/json");
  response.writeHead(status).end(JSON.stringify(body));
}

const SECRET_NAME = /auth|key|token|secret|cookie|credential|password|signature|session/i;
const SECRET_VALUE = /^\s*(?:bearer|basic|digest|aws4-)\b/i;

/** The headers without possible secrets: judged by their names, and by values that look like credentials. */
export function withoutSecrets(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const text = Array.isArray(value) ? value.join(", ") : value;
    if (text !== undefined && !SECRET_NAME.test(name) && !SECRET_VALUE.test(text)) kept[name] = text;
  }
  return kept;
}
