import { extname } from "node:path";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { checkOptionNames, type OptionNames } from "../tool/option-names.ts";
import { bodyFile, pathOf, saveRecording } from "./files.ts";
import { listen, sendJson } from "./http.ts";
import { record } from "./record.ts";
import { parseJson, type Recording } from "./recording.ts";
import { isWire, type Wire } from "./serve.ts";

/** The response that a recording was made from. Nothing in it can be a secret. */
export interface RecordedResponse {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly status: number;
  /** Where it was saved; `undefined` without `out`. */
  readonly file: string | undefined;
}

/** A response that was passed on without being recorded. */
export interface SkippedResponse {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** As received by the client. */
  readonly status: number;
  /** For a person. */
  readonly reason: string;
}

/** Options of {@link recordingProxy}. */
export interface ProxyOptions {
  /** The real endpoint's base URL; a request's path is appended to its path, and its query to its query. */
  readonly url: string;
  /** Record only requests that belong to this adapter's wire. Default: every successful response. */
  readonly wire?: Wire | undefined;
  /**
   * A file for the first response body; those of later requests get `-2`, `-3` before the extension. In a directory
   * they are named `stream.sse` (or `.ndjson`, `.json`), `stream-2.sse`, ...
   */
  readonly out?: string | URL | undefined;
  readonly onRecording?: ((recording: Recording, response: RecordedResponse) => void) | undefined;
  /** Called for every response that is not recorded, with the reason. */
  readonly onSkipped?: ((response: SkippedResponse) => void) | undefined;
  /** Why a response was not recorded or saved, or a listener failed. Default: `close()` rejects with the first one. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Default 0: a free port. */
  readonly port?: number | undefined;
  /** Default `127.0.0.1`. */
  readonly host?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Kept {
  readonly recording: Recording;
  readonly response: Omit<RecordedResponse, "file">;
}

/** A listening proxy, until it is closed. */
export interface RecordingProxy {
  /** Use it as the client's base URL instead of the real one. */
  readonly url: string;
  readonly port: number;
  /** Breaks open connections, saves what has come so far, and frees the port. */
  close(): Promise<void>;
}

/**
 * Sits in front of a real endpoint, passes requests and responses on, and records the bodies of the responses.
 * Request headers, keys and cookies go to the endpoint and nowhere else; of the response headers, only the content type
 * is kept.
 *
 * @throws TypeError for an invalid option, such as a `url` with credentials in it
 */
export async function recordingProxy(options: ProxyOptions): Promise<RecordingProxy> {
  const base = endpointUrl(options?.url);
  checkOptionNames("recordingProxy()", options, OPTIONS);
  const { wire, onRecording, onSkipped, host = "127.0.0.1", port = 0, signal } = options;
  if (wire !== undefined && !isWire(wire)) {
    throw new TypeError(`wire is an adapter itself, not its name; got ${JSON.stringify(wire)}`);
  }
  const out = options.out === undefined ? undefined : pathOf(options.out);
  const errors: unknown[] = [];
  const onError = options.onError ?? ((error) => errors.push(error));
  let saved = 0;
  /**
   * Saved in the order of the requests, not of their ends: a replay server hands out its turns in that order, to
   * concurrent requests too.
   */
  let last: Promise<void> = Promise.resolve();

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = request.url ?? "/";
    if (!target.startsWith("/")) return sendJson(response, 400, { error: { message: "Not a path." } });
    const body = await buffer(request);
    const { promise, resolve } = Promise.withResolvers<Kept | undefined>();
    last = last
      .then(() => promise)
      .then((kept) => kept && save(kept))
      .catch(onError);
    try {
      await forward(request, new URL(`http://proxy${target}`), body, response, resolve);
    } finally {
      resolve(undefined); // an error must not hold up the requests after this one
    }
  }

  /** Passes on the whole response. `keep` gets its recording, or nothing once it is known that there is none. */
  async function forward(
    request: IncomingMessage,
    { pathname, search, searchParams }: URL,
    body: Buffer<ArrayBuffer>,
    response: ServerResponse,
    keep: (kept: Kept | undefined) => void,
  ): Promise<void> {
    const method = request.method ?? "GET";
    const left = new AbortController();
    response.once("close", () => left.abort());

    let upstream: Response;
    try {
      upstream = await fetch(upstreamUrl(base, pathname, search), {
        method,
        headers: requestHeaders(request.headers),
        ...(body.length > 0 && { body }),
        redirect: "manual",
        signal: left.signal,
      });
    } catch (error) {
      if (left.signal.aborted) return;
      const why = error instanceof Error ? String(error.cause ?? error) : String(error);
      const message = `${base.origin} cannot be reached: ${why}`;
      sendJson(response, 502, { error: { message } });
      return skip({ method, path: pathname, status: 502, reason: message });
    }
    const json = parseJson(new TextDecoder().decode(body));
    const isOurs =
      wire === undefined || wire.endpoint.match({ method, path: pathname, query: searchParams, body: json });
    const answered = { method, path: pathname, status: upstream.status };
    response.writeHead(upstream.status, responseHeaders(upstream.headers));
    if (isOurs && upstream.ok) {
      const { stream, recording } = record(upstream);
      await pass(stream.body, response);
      return keep({ recording: await recording, response: answered });
    }
    void skip({
      ...answered,
      reason: isOurs ? "only successful responses are recorded" : `it is not a request of ${wire!.name}`,
    });
    keep(undefined); // it must not hold up the requests after it until it ends
    await pass(upstream.body, response);
  }

  /** What a listener throws, at once or later, is no failure of the response. */
  async function skip(response: SkippedResponse): Promise<void> {
    try {
      await onSkipped?.(response);
    } catch (error) {
      onError(error);
    }
  }

  async function save({ recording, response }: Kept): Promise<void> {
    if (recording.bytes.length === 0) return skip({ ...response, reason: "its body is empty" });
    const count = ++saved;
    const file =
      out === undefined ? undefined : await saveRecording(numbered(await bodyFile(out, recording), count), recording);
    return onRecording?.(recording, { ...response, file });
  }

  const server = await listen(handle, { host, port, signal });
  return {
    url: server.url,
    port: server.port,
    async close() {
      await server.close();
      await last;
      const [first] = errors.splice(0); // reported once
      if (first !== undefined) throw first;
    },
  };
}

const OPTIONS: OptionNames<ProxyOptions> = {
  url: true,
  wire: true,
  out: true,
  onRecording: true,
  onSkipped: true,
  onError: true,
  port: true,
  host: true,
  signal: true,
};

function endpointUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== "http:" && parsed?.protocol !== "https:") {
    throw new TypeError(`url has to be an http or https URL, not ${JSON.stringify(url)}`);
  }
  // fetch() refuses them, in an error that quotes them and would be passed on.
  if (parsed.username !== "" || parsed.password !== "") {
    throw new TypeError("url has a user or a password in it: send them from the client, in a header");
  }
  return parsed;
}

/**
 * Only path and query come from the client: the host stays that of `base`, whatever the path looks like. Of a parameter
 * that both have, the client's counts.
 */
function upstreamUrl(base: URL, pathname: string, search: string): URL {
  const target = new URL(base);
  target.pathname = base.pathname.replace(/\/$/, "") + pathname;
  for (const name of new URLSearchParams(search).keys()) {
    // Writes the query anew, which is sent as it was given if it need not be changed.
    if (target.searchParams.has(name)) target.searchParams.delete(name);
  }
  target.search = [target.search.slice(1), search.slice(1)].filter((part) => part !== "").join("&");
  return target;
}

/** These belong to one connection, not to the message. */
const OF_CONNECTION = new Set(
  "connection keep-alive proxy-connection te trailer transfer-encoding upgrade host content-length expect".split(" "),
);

function requestHeaders(headers: IncomingHttpHeaders): Headers {
  const forwarded = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || OF_CONNECTION.has(name)) continue;
    forwarded.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  forwarded.set("accept-encoding", "identity"); // so that the bytes are recorded as they are read
  return forwarded;
}

function responseHeaders(headers: Headers): Record<string, string | string[]> {
  const forwarded: Record<string, string | string[]> = {};
  for (const [name, value] of headers) {
    // fetch has already decoded the body
    if (OF_CONNECTION.has(name) || name === "content-encoding") continue;
    forwarded[name] = name === "set-cookie" ? headers.getSetCookie() : value;
  }
  return forwarded;
}

/** Sends the body piece by piece; if it breaks off, so does the response, and if the client leaves, so do we. */
async function pass(body: ReadableStream<Uint8Array> | null, response: ServerResponse): Promise<void> {
  response.flushHeaders();
  await pipeline(body ?? [], response).catch(() => {});
}

function numbered(file: string, count: number): string {
  if (count === 1) return file;
  const extension = extname(file);
  return `${file.slice(0, file.length - extension.length)}-${count}${extension}`;
}
