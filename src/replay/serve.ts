import type { IncomingMessage, ServerResponse } from "node:http";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type { Adapter } from "../adapter.ts";
import { pause } from "../time.ts";
import { checkOptionNames, type OptionNames } from "../tool/option-names.ts";
import { behaviorFor, endingOf, isFailure, leftOf, sendsBody, wrongIn } from "./behavior.ts";
import type { ReplayBehavior, ReplayBehaviors } from "./behavior.ts";
import { isDirectory, pathOf } from "./files.ts";
import { fixturesFrom, fixturesIn } from "./fixtures.ts";
import type { ReplayCase } from "./fixtures.ts";
import { listen, sendJson, withoutSecrets } from "./http.ts";
import { checkRecording, FORMATS, formatOf, parseJson, sseOf } from "./recording.ts";
import type { Recording } from "./recording.ts";
import { replay } from "./replay.ts";

/** What the server needs from an adapter: its name, and the form of its provider's endpoint. */
export type Wire = Pick<Adapter, "name" | "endpoint">;

/** Options of {@link serveReplay}. */
export interface ServeOptions {
  readonly adapters: readonly Wire[];
  /** A directory of `<wire>/<case>/stream.*` (and `stream-2.*`, ...), or cases in memory under `"<wire>/<case>"`. */
  readonly fixtures: string | URL | ReadonlyMap<string, ReplayCase>;
  /** Default 0: a free port. */
  readonly port?: number | undefined;
  /** Default `127.0.0.1`: only reachable from this machine. */
  readonly host?: string | undefined;
  /** How many times faster than it was recorded. Default `Infinity`: immediately. */
  readonly speed?: number | undefined;
  /** How to answer for `"<wire>/<case>"`, overriding its `meta.json`. */
  readonly behavior?: Readonly<Record<string, ReplayBehaviors>> | undefined;
  /** Whether a case starts over after its last turn. `false`: a further request gets an error. Default `true`. */
  readonly startOver?: boolean | undefined;
  /** Origins whose pages may send requests, as browsers write them: `["http://localhost:5173"]`. Default: none. */
  readonly origins?: readonly string[] | undefined;
  /** Closes the server. */
  readonly signal?: AbortSignal | undefined;
}

/** A request that the server has received. */
export interface ReceivedRequest {
  readonly method: string;
  /** Without the server's own prefix and without the query. */
  readonly path: string;
  /** `<wire>/<case>`. */
  readonly fixture: string;
  /** Without anything that may be a secret. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON body; `undefined` if it was not JSON. */
  readonly body: unknown;
}

/** A listening server, until it is closed. */
export interface ReplayServer {
  /** `http://127.0.0.1:49152`, say. A client's base URL is this, `/<wire>/<case>` and the provider's own path. */
  readonly url: string;
  readonly port: number;
  /** The requests so far, oldest first; only the last 1,000 are kept. */
  readonly requests: readonly ReceivedRequest[];
  /** Forgets the requests: every case begins with its first turn and its first failure again. For the next test. */
  reset(): void;
  /** Breaks open responses and frees the port. */
  close(): Promise<void>;
}

/**
 * Answers as the providers do, from recordings: point an SDK's client at it by its base URL.
 *
 * @throws TypeError for an invalid option
 * @example
 * const server = await serveReplay({ adapters: [anthropic], fixtures: "fixtures" });
 * const client = new Anthropic({ apiKey: "none", baseURL: `${server.url}/anthropic/parallel` });
 */
export async function serveReplay(options: ServeOptions): Promise<ReplayServer> {
  if (!Array.isArray(options?.adapters) || !options.adapters.every(isWire)) {
    throw new TypeError("serveReplay() takes a list of adapters, not of their names");
  }
  checkOptionNames("serveReplay()", options, OPTIONS);
  const { adapters, host = "127.0.0.1", port = 0, speed = Infinity, behavior, origins = [], signal } = options;
  const { startOver = true } = options;
  if (!(speed > 0)) throw new TypeError(`speed has to be a positive number, not ${speed}`);
  const directory =
    typeof options.fixtures === "string" || options.fixtures instanceof URL ? pathOf(options.fixtures) : undefined;
  const cases = directory === undefined ? (options.fixtures as ReadonlyMap<string, ReplayCase>) : undefined;
  if (directory === undefined && typeof cases?.get !== "function") {
    throw new TypeError("fixtures is the path of a directory, or a Map of cases by their names, <wire>/<case>");
  }
  // Relative to where the process was started, which may be elsewhere.
  if (directory !== undefined && !(await isDirectory(directory))) {
    throw new TypeError(`fixtures: there is no directory ${resolve(directory)}`);
  }
  if (!Array.isArray(origins)) {
    throw new TypeError(`origins is a list, ["http://localhost:5173"], got ${JSON.stringify(origins)}`);
  }
  const wrong = origins.find((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin);
  if (wrong !== undefined) {
    throw new TypeError(
      `${JSON.stringify(wrong)} in origins is not an origin as browsers send it: "http://localhost:5173"`,
    );
  }
  const wires = new Map(adapters.map((adapter) => [adapter.name, adapter]));
  const fixtures = directory === undefined ? fixturesFrom(cases!) : fixturesIn(directory);
  for (const [name, how] of Object.entries(behavior ?? {})) {
    const [wireName = "", caseName = "", ...rest] = name.split("/");
    if (!wires.has(wireName) || caseName === "" || rest.length > 0) {
      throw new TypeError(`behavior is keyed by <wire>/<case>, got ${JSON.stringify(name)}; ${known(wires)}`);
    }
    // Without such a case it would do nothing: a test of a failure would see none, and pass.
    if ((await fixtures.find(wireName, caseName)) === undefined) {
      throw new TypeError(`behavior: ${await unknownMessage(wires.get(wireName), wireName, caseName)}`);
    }
    checkBehavior(name, how);
  }
  for (const [name, found] of cases ?? []) checkCase(name, found);
  const requests: ReceivedRequest[] = [];
  const asked = new Map<string, number>();
  /** The turn that is next, and those before it that nobody got, by case and kind. */
  const answered = new Map<string, { next: number; readonly left: number[] }>();
  let last: Promise<unknown> = Promise.resolve();

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { origin } = request.headers;
    if (origin !== undefined && origins.includes(origin)) {
      response.setHeader("access-control-allow-origin", origin);
      // Otherwise pages see neither `retry-after` nor the request's id.
      response.setHeader("access-control-expose-headers", "*");
      // What a browser asks before it sends JSON or a key to another origin (Fetch Standard, CORS-preflight fetch).
      if (request.method === "OPTIONS") {
        const headers = request.headers["access-control-request-headers"];
        if (headers !== undefined) response.setHeader("access-control-allow-headers", headers);
        response.writeHead(204).end();
        return;
      }
    }
    const target = request.url ?? "/";
    if (!target.startsWith("/")) return sendError(response, undefined, 400, "Not a path.");
    const { pathname, searchParams } = new URL(`http://replay${target}`);
    const [, ...parts] = pathname.split("/");
    const [wireName = "", caseName = ""] = parts.slice(0, 2).map(decoded);
    const path = `/${parts.slice(2).join("/")}`;
    const wire = wires.get(wireName);
    const fixture = `${wireName}/${caseName}`;
    if (wire === undefined) return sendError(response, wire, 404, await unknownMessage(wire, wireName, caseName));
    const body = parseJson(await text(request));
    const found = await inOrder(fixtures.find(wireName, caseName));
    if (found === undefined) return sendError(response, wire, 404, await unknownMessage(wire, wireName, caseName));
    const method = request.method ?? "GET";
    if (requests.push({ method, path, fixture, headers: withoutSecrets(request.headers), body }) > 1000)
      requests.shift();

    const kind = wire.endpoint.match({ method, path, query: searchParams, body });
    if (kind === undefined)
      return sendError(response, wire, 404, `${method} ${path} is not a request of ${wire.name}.`);
    const count = (asked.get(fixture) ?? 0) + 1;
    asked.set(fixture, count);
    const how = behaviorFor(behavior?.[fixture] ?? found.behavior, count);
    const bodies = bodiesOf(found, kind);
    const turns = answered.get(`${fixture} ${kind}`) ?? { next: 0, left: [] };
    answered.set(`${fixture} ${kind}`, turns);
    const [turn = turns.next] = turns.left;
    const isTaken = !isFailure(how);
    if (isTaken && turns.left.shift() === undefined) turns.next++;
    const recording = bodies[startOver ? turn % bodies.length : turn];
    if (recording === undefined && sendsBody(how)) {
      // Not a status that clients retry.
      const message =
        bodies.length > 0
          ? `${fixture} was asked for turn ${bodies.length + 1} and has ${bodies.length}. Give it another recording.`
          : missingKindMessage(fixture, kind, found);
      return sendError(response, wire, 404, message);
    }
    const isOfSdk = recording !== undefined && wire.endpoint.streams === "sse" && formatOf(recording) === "ndjson";
    const left = new AbortController();
    response.once("close", () => left.abort());
    await pause(how.delayMs ?? 0, left.signal);
    if (!response.destroyed) return answer(response, wire, isOfSdk ? sseOf(recording) : recording, how, left.signal);
    // Who no longer waited asks again.
    if (isTaken) turns.left.splice(turns.left.filter((other) => other < turn).length, 0, turn);
  }

  /** Results come in the order of the requests: the turn that each gets must not depend on how long reading takes. */
  function inOrder<Result>(result: Promise<Result>): Promise<Result> {
    const mine = Promise.allSettled([result, last]).then(() => result);
    last = mine;
    return mine;
  }

  async function answer(
    response: ServerResponse,
    wire: Wire,
    recording: Recording | undefined,
    how: ReplayBehavior,
    left: AbortSignal,
  ): Promise<void> {
    const headers = Object.entries(how.headers ?? {});
    if (recording === undefined || !sendsBody(how)) {
      const status = how.status!;
      response.setHeaders(new Headers(headers));
      return sendError(response, wire, status, how.message ?? `Replayed error with status ${status}.`);
    }
    const body = leftOf(recording, how);
    response.setHeader("content-type", recording.contentType ?? FORMATS[formatOf(recording)]);
    response.setHeaders(new Headers(headers));
    response.writeHead(200).flushHeaders();
    await pipeline(replay(body, { speed, signal: left }), response, { end: false });
    await end(response, endingOf(how));
  }

  async function end(response: ServerResponse, ending: "reset" | "end" | "stall"): Promise<void> {
    if (ending === "end") response.end();
    if (ending !== "reset") return;
    // an empty write calls back once the system has everything before it: the client gets these bytes, then no end
    await new Promise((done) => response.write("", done));
    response.socket?.destroy();
  }

  async function unknownMessage(wire: Wire | undefined, wireName: string, caseName: string): Promise<string> {
    if (wire === undefined) {
      return `There is no wire "${bounded(wireName)}". Ask for /<wire>/<case>/...; ${known(wires)}.`;
    }
    const names = await fixtures.names(wireName);
    // The folder may not be the intended one: relative, or one level too deep.
    const where = directory === undefined ? "" : ` in ${resolve(directory)}`;
    if (names.includes(caseName)) {
      return `The case "${caseName}" of ${wireName}${where} has no recording: a file stream.sse, .ndjson or .json.`;
    }
    return `There is no case "${bounded(caseName)}" of ${wireName}${where}. There are ${list(names)}.`;
  }

  function reset(): void {
    requests.length = 0;
    asked.clear();
    answered.clear();
  }

  const { url, port: actualPort, close } = await listen(handle, { host, port, signal });
  return { url, port: actualPort, requests, reset, close };
}

const OPTIONS: OptionNames<ServeOptions> = {
  adapters: true,
  fixtures: true,
  port: true,
  host: true,
  speed: true,
  behavior: true,
  startOver: true,
  origins: true,
  signal: true,
};

/** Whether it is an adapter, and not the name of one. */
export function isWire(value: unknown): value is Wire {
  return typeof (value as Wire | undefined)?.endpoint?.match === "function";
}

function checkCase(name: string, found: ReplayCase): void {
  if (!/^[^/]+\/[^/]+$/.test(name)) {
    throw new TypeError(`The cases in fixtures are named <wire>/<case>, got ${JSON.stringify(name)}`);
  }
  // The compiler does not look at what is in a Map: a failure with a typo in its name would never happen.
  const unknown = Object.keys(found ?? {}).find((part) => !PARTS.includes(part));
  if (unknown !== undefined) {
    throw new TypeError(
      `The case ${name} has no part ${JSON.stringify(unknown)}: it is { stream } or { whole } or both, which are recordings, and perhaps { behavior }`,
    );
  }
  checkBehavior(name, found?.behavior);
  for (const recording of [...bodiesOf(found, "stream"), ...bodiesOf(found, "whole")]) checkRecording(recording, name);
}

const PARTS: readonly string[] = ["stream", "whole", "behavior"] satisfies (keyof ReplayCase)[];

function checkBehavior(name: string, behavior: unknown): void {
  const wrong = wrongIn(behavior);
  if (wrong !== undefined) throw new TypeError(`behavior of ${name} ${wrong}`);
}

/** A part of a path as it was before it was encoded; as it is if it never was. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function sendError(response: ServerResponse, wire: Wire | undefined, status: number, message: string): void {
  sendJson(response, status, wire?.endpoint.errorBody(status, message) ?? { error: { message } });
}

function bodiesOf(found: ReplayCase, kind: "stream" | "whole"): readonly Recording[] {
  return [found?.[kind] ?? []].flat();
}

function missingKindMessage(fixture: string, kind: "stream" | "whole", found: ReplayCase): string {
  const words = { stream: "a streamed", whole: "a whole" };
  const other = kind === "stream" ? "whole" : "stream";
  if (bodiesOf(found, other).length === 0)
    return `${fixture} has no body: a case is { stream } or { whole } or both, and these are recordings.`;
  return `${fixture} has no body for ${words[kind]} response, only for ${words[other]} response.`;
}

function known(wires: ReadonlyMap<string, Wire>): string {
  return `the wires are ${list([...wires.keys()])}`;
}

function bounded(name: string): string {
  return name.slice(0, 100);
}

/** At most fifty of the names. */
function list(names: readonly string[]): string {
  const shown = names.slice(0, 50).join(", ") || "none";
  return names.length > 50 ? `${shown} and ${names.length - 50} more` : shown;
}
