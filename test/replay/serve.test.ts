import { getEventListeners } from "node:events";
import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { request, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { serveReplay } from "../../src/replay/index.ts";
import type { Recording, ReplayBehavior, ReplayServer, ServeOptions, Wire } from "../../src/replay/index.ts";
import { temporary } from "../temporary.ts";
import { bodyCase, paper, post, streamBody, wholeBody } from "./wire.ts";
import { soon } from "../soon.ts";

async function serve(options: Partial<ServeOptions> = {}): Promise<ReplayServer> {
  const fixtures = new Map([
    ["paper/both", bodyCase(streamBody, wholeBody)],
    ["paper/streamed", bodyCase(streamBody)],
    ["paper/whole", bodyCase(undefined, wholeBody)],
  ]);
  const server = await serveReplay({ adapters: [paper], fixtures, ...options });
  onTestFinished(() => server.close());
  return server;
}

/** A server with a conversation of two turns, and what it answers. */
async function conversation(options: Partial<ServeOptions>) {
  const stream = ["data: 1\n\n", "data: 2\n\n"].map((body) => bodyCase(body).stream as Recording);
  const server = await serve({ fixtures: new Map([["paper/both", { stream }]]), ...options });
  const ask = async () => (await post(`${server.url}/paper/both/v1/write`, { stream: true })).text();
  return { server, ask };
}

/** A request whose path is sent as it is: fetch would resolve the dots. */
function rawStatus(server: ReplayServer, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port: server.port, path, method: "POST" }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", reject);
    sent.end('{"stream":true}');
  });
}

describe("the replay server", () => {
  it("answers with a stream or with a whole response, as the request asks", async () => {
    const server = await serve();
    const stream = await post(`${server.url}/paper/both/v1/write`, { stream: true });
    expect([stream.status, stream.headers.get("content-type"), await stream.text()]).toEqual([
      200,
      "text/event-stream",
      streamBody,
    ]);
    const whole = await post(`${server.url}/paper/both/v1/write`, {});
    expect([whole.headers.get("content-type"), await whole.text()]).toEqual(["application/json", wholeBody]);
  });

  it("lets pages of the named origins ask, and no others", async () => {
    const origin = "http://localhost:5173";
    const server = await serve({ origins: [origin] });
    const ask = (from: string, method: string) =>
      new Promise<[number | undefined, IncomingHttpHeaders]>((resolve, reject) => {
        const headers = { origin: from, "access-control-request-headers": "content-type,x-api-key" };
        const sent = request(`${server.url}/paper/both/v1/write`, { method, headers }, (response) => {
          response.resume();
          resolve([response.statusCode, response.headers]);
        });
        sent.on("error", reject);
        sent.end(method === "POST" ? '{"stream":true}' : undefined);
      });
    const named = { "access-control-allow-origin": origin, "access-control-expose-headers": "*" };
    const preflight = { ...named, "access-control-allow-headers": "content-type,x-api-key" };
    expect(await ask(origin, "OPTIONS")).toEqual([204, expect.objectContaining(preflight)]);
    expect(await ask(origin, "POST")).toEqual([200, expect.objectContaining(named)]);
    for (const method of ["OPTIONS", "POST"]) {
      const [, headers] = await ask("http://localhost:5174", method);
      expect(headers).not.toHaveProperty("access-control-allow-origin");
    }
    await expect(serve({ origins: origin as never })).rejects.toThrow(
      'origins is a list, ["http://localhost:5173"], got',
    );
    for (const none of ["http://localhost:5173/", "*"])
      await expect(serve({ origins: [none] })).rejects.toThrow(
        `"${none}" in origins is not an origin as browsers send it`,
      );
  });

  it("listens on this machine only, on a free port", async () => {
    const server = await serve();
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    const other = await serve();
    expect(other.port).not.toBe(server.port);
  });

  const hasIPv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));
  it.runIf(hasIPv6)("listens at an IPv6 address, where there is one", async () => {
    const server = await serve({ host: "::1" });
    expect(server.url).toBe(`http://[::1]:${server.port}`);
    expect((await post(`${server.url}/paper/both/v1/write`, {})).status).toBe(200);
  });

  it("keeps what was asked, without secrets", async () => {
    const server = await serve();
    const headers = {
      authorization: "Bearer s3cret",
      "x-api-key": "s3cret",
      "x-goog-api-key": "s3cret",
      cookie: "id=s3cret",
      "x-csrf-token": "s3cret",
      "client-secret": "s3cret",
      "x-amz-signature": "s3cret",
      "x-session-id": "s3cret",
      "x-custom": "Basic s3cret",
      "x-digested": "Digest s3cret",
      "x-signed": "AWS4-HMAC-SHA256 s3cret",
      "x-version": "7",
    };
    await post(`${server.url}/paper/both/v1/write?key=s3cret`, { stream: true, messages: ["é"] }, headers);
    expect(server.requests).toMatchObject([
      {
        method: "POST",
        path: "/v1/write",
        fixture: "paper/both",
        headers: { "x-version": "7", "content-type": "application/json" },
        body: { stream: true, messages: ["é"] },
      },
    ]);
    expect(JSON.stringify(server.requests)).not.toContain("s3cret");
  });

  it.each(["an answer", "größe", "#1", "100%", "a?b"])("answers for the case %s", async (name) => {
    const fixtures = temporary();
    await mkdir(join(fixtures, "paper", name), { recursive: true });
    await writeFile(join(fixtures, "paper", name, "stream.sse"), streamBody);
    for (const cases of [fixtures, new Map([[`paper/${name}`, bodyCase(streamBody)]])]) {
      const server = await serve({ fixtures: cases, behavior: { [`paper/${name}`]: { delayMs: 1 } } });
      const response = await post(`${server.url}/paper/${encodeURIComponent(name)}/v1/write`, { stream: true });
      expect(await response.text()).toBe(streamBody);
      expect(server.requests).toMatchObject([{ fixture: `paper/${name}`, path: "/v1/write" }]);
    }
  });

  it.each([
    ["/nobody/both/v1/write", {}, { error: { message: expect.stringContaining("the wires are paper") } }],
    ["/", {}, { error: { message: expect.stringContaining("the wires are paper") } }],
    [
      "/paper/other/v1/write",
      {},
      { type: "error", error: { status: 404, message: expect.stringContaining("both, streamed, whole") } },
    ],
    ["/paper/both/v2/write", {}, { error: { message: "POST /v2/write is not a request of paper." } }],
    [
      "/paper/streamed/v1/write",
      {},
      { error: { message: expect.stringMatching(/no body for a whole response, only for a streamed/) } },
    ],
    [
      "/paper/whole/v1/write",
      { stream: true },
      { error: { message: expect.stringMatching(/for a streamed response, only for a whole/) } },
    ],
  ])("says what there is instead of %s", async (path, body, answer) => {
    const server = await serve();
    const response = await post(server.url + path, body);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject(answer);
  });

  it.each([
    [{ adapters: paper as never }, "takes a list of adapters"],
    [{ adapters: ["paper"] as never }, "takes a list of adapters, not of their names"],
    [{ fixtures: {} as never }, "the path of a directory, or a Map"],
    [{ fixtures: new Map([["both", bodyCase(streamBody)]]) }, 'are named <wire>/<case>, got "both"'],
    [
      { fixtures: new Map([["paper/both", { stream: Promise.resolve() as never }]]) },
      "paper/both takes a recording: await loadRecording(path)",
    ],
    [
      { fixtures: new Map([["paper/both", { whole: ["fixtures/x"] as never }]]) },
      "paper/both takes a recording: await loadRecording(path)",
    ],
    [{ port: "four thousand" as never }, 'port has to be a number, not "four thousand"'],
    [{ behavior: { both: { status: 500 } } }, 'by <wire>/<case>, got "both"; the wires are paper'],
    [{ behavior: { "pen/both": { status: 500 } } }, 'got "pen/both"; the wires are paper'],
    [{ behavior: { paper: { status: 500 } } }, 'by <wire>/<case>, got "paper"'],
    [{ behavior: { "paper/both/v1": { status: 500 } } }, 'by <wire>/<case>, got "paper/both/v1"'],
    [{ behavior: { "paper/bth": { status: 429 } } }, 'no case "bth" of paper. There are both, streamed, whole.'],
    [{ speed: 0 }, "speed has to be a positive number"],
    ...(
      [
        [{ sttus: 429 }, 'behavior of paper/both has the unknown key "sttus"; the keys are status, message, headers,'],
        [{ status: "429" }, "has the status '429'; expected an HTTP status, 200 to 599"],
        [{ status: 199 }, "has the status 199; expected an HTTP status"],
        [{ status: 600 }, "has the status 600; expected an HTTP status"],
        [{ status: 529, message: ["Overloaded"] }, "has the message [ 'Overloaded' ]; expected a string"],
        [{ headers: { "retry-after": 1 } }, "has the headers { 'retry-after': 1 }; expected an object of strings"],
        [{ headers: ["retry-after: 1"] }, "has the headers [ 'retry-after: 1' ]; expected an object of strings"],
        [{ cutAtByte: -1 }, "has the cutAtByte -1; expected a number of bytes"],
        [{ cutAtEvent: 1.5 }, "has the cutAtEvent 1.5; expected a number of events"],
        [{ cut: "stop" }, 'has the cut \'stop\'; expected "reset", "end" or "stall"'],
        [{ append: [] }, "has the append []; expected an event or text"],
        [{ delayMs: "1s" }, "has the delayMs '1s'; expected a number of milliseconds"],
        [{ delayMs: -1 }, "has the delayMs -1; expected a number of milliseconds"],
        [{ times: -1 }, "has the times -1; expected a number of requests"],
        [{ status: 529, cutAtEvent: 1 }, "has the status 529, with which no body is sent, and a cut"],
        [{ status: 529, cut: "reset" }, "has the status 529, with which no body is sent, and a cut"],
        [{ cutAtByte: 1, cutAtEvent: 1 }, "has a cutAtByte, which may cut an event in two"],
        [{ cutAtByte: 1, append: {} }, "has a cutAtByte, which may cut an event in two"],
        [[{}, 529], "is 529; expected an object or a list of them"],
      ] as const
    ).map(([how, words]): [Partial<ServeOptions>, string] => [{ behavior: { "paper/both": how as never } }, words]),
    [
      { fixtures: new Map([["paper/mine", { ...bodyCase(streamBody), behavior: { times: 1, delay: 5 } as never }]]) },
      'behavior of paper/mine has the unknown key "delay"',
    ],
    [
      { fixtures: new Map([["paper/mine", { ...bodyCase(streamBody), behaviors: { status: 503 } }]]) },
      'paper/mine has no part "behaviors": it is { stream } or { whole } or both, which are recordings, and perhaps {',
    ],
  ])("refuses %j", async (options, words) => {
    await expect(serve(options)).rejects.toThrow(words);
    await expect(serve(options)).rejects.toThrow(TypeError);
  });

  it("says what a case is where there is a recording in its place, or nothing in it", async () => {
    const { stream } = bodyCase(streamBody);
    const serving = serve({ fixtures: new Map([["paper/both", stream as never]]) });
    await expect(serving).rejects.toThrow('paper/both has no part "bytes": it is { stream } or { whole }');
    const server = await serve({ fixtures: new Map([["paper/both", {}]]) });
    const response = await post(`${server.url}/paper/both/v1/write`, { stream: true });
    expect(await response.text()).toContain("paper/both has no body: a case is { stream } or { whole }");
  });

  it("keeps the last thousand requests only", async () => {
    const server = await serve();
    // All of them in one write: one by one they would take long.
    const sent = Array.from({ length: 1001 }, (_, at) => {
      const body = `{"at":${at + 1000}}`;
      return `POST /paper/both/v1/write HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    });
    const socket = connect(server.port, "127.0.0.1").resume();
    socket.write(sent.join(""));
    await soon(() => expect(server.requests.at(-1)?.body).toEqual({ at: 2000 }));
    socket.destroy();
    expect([server.requests.length, server.requests[0]?.body]).toEqual([1000, { at: 1001 }]);
  });

  it("repeats only the beginning of a name that it does not know", async () => {
    const server = await serve();
    const response = await post(`${server.url}/paper/${"x".repeat(5000)}/v1/write`, {});
    expect((await response.text()).length).toBeLessThan(300);
  });

  it("names fifty of very many cases", async () => {
    const fixtures = new Map(Array.from({ length: 70 }, (_, i) => [`paper/case-${i}`, bodyCase(streamBody)]));
    const server = await serve({ fixtures });
    const response = await post(`${server.url}/paper/x/v1/write`, {});
    expect(await response.text()).toMatch(/case-49 and 20 more/);
  });

  it("takes a body that is no JSON for none", async () => {
    const server = await serve();
    const response = await fetch(`${server.url}/paper/both/v1/write`, { method: "POST", body: "{" });
    expect(await response.text()).toBe(wholeBody);
    expect(server.requests[0]!.body).toBeUndefined();
  });

  const long = JSON.stringify({ instructions: "x".repeat(5000) });
  it.each([
    ["NDJSON", '{"n":1}\n{"n":2}\n', "application/x-ndjson"],
    ["NDJSON with the line ends of Windows", '{"n":1}\r\n{"n":2}\r\n', "application/x-ndjson"],
    ["NDJSON with a long first line", `${long}\n{"n":2}\n`, "application/x-ndjson"],
    ["NDJSON of texts", '"one"\n"two"\n', "application/x-ndjson"],
    ["a document", `${long}\n`, "application/json"],
    ["a document of several lines", '{\n"n": {\n"m": 1}\n}', "application/json"],
    ["an array of lines", '[{"n":1},\n{"n":2}]', "application/json"],
  ])("knows %s by its content", async (_, text, type) => {
    const server = await serve({ fixtures: new Map([["paper/mine", bodyCase(text)]]) });
    const response = await post(`${server.url}/paper/mine/v1/write`, { stream: true });
    expect([response.headers.get("content-type"), await response.text()]).toEqual([type, text]);
  });

  it.each([
    ["as they were", '{"type":"a b"}\n{"event_type":"ping"}\n'],
    ["edited by hand", '\n{"type":"a b"}\n\n{"event_type":"ping"}'],
  ])("serves the events of an SDK's stream as server-sent events in their time, %s", async (_, lines) => {
    const streaming: Wire = { ...paper, endpoint: { ...paper.endpoint, streams: "sse" } };
    const chunks = [0, 60].map((atMs) => ({ atMs, length: 8 }));
    const stream = { ...(bodyCase(lines).stream as Recording), chunks };
    const server = await serve({ adapters: [streaming], fixtures: new Map([["paper/mine", { stream }]]), speed: 1 });
    const start = performance.now();
    const response = await post(`${server.url}/paper/mine/v1/write`, { stream: true });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(await response.text()).toBe('data: {"type":"a b"}\n\nevent: ping\ndata: {"event_type":"ping"}\n\n');
    expect(performance.now() - start).toBeGreaterThanOrEqual(59);
  });

  it("answers with an error in the provider's form, as often as it is told to", async () => {
    const server = await serve({ behavior: { "paper/both": { status: 529, message: "Overloaded", times: 1 } } });
    const first = await post(`${server.url}/paper/both/v1/write`, { stream: true });
    expect([first.status, await first.json()]).toEqual([
      529,
      { type: "error", error: { status: 529, message: "Overloaded" } },
    ]);
    const second = await post(`${server.url}/paper/both/v1/write`, { stream: true });
    expect(await second.text()).toBe(streamBody);
  });

  it.each<[string, ReplayBehavior]>([
    ["a status", { status: 529, times: 1 }],
    ["a cut", { cutAtByte: 0, times: 1 }],
    ["an event", { cutAtEvent: 0, append: { type: "error" }, times: 1 }],
  ])("answers with the turns of a conversation, and again with the one that failed by %s", async (_, how) => {
    const { ask } = await conversation({ behavior: { "paper/both": how } });
    await ask().catch(() => {});
    expect([await ask(), await ask(), await ask()]).toEqual(["data: 1\n\n", "data: 2\n\n", "data: 1\n\n"]);
  });

  it.each<[string, ReplayBehavior]>([
    ["a comment after it", { append: ": a comment\n\n" }],
    ["an event after it", { append: { type: "ping" } }],
    ["an end that is as usual", { cut: "end" }],
    ["a header", { headers: { "x-ratelimit-remaining": "1" } }],
  ])("goes on to the next turn after a whole one with %s", async (_, how) => {
    const { ask } = await conversation({ behavior: { "paper/both": how } });
    expect([await ask(), await ask()]).toEqual([expect.stringMatching(/^data: 1/), expect.stringMatching(/^data: 2/)]);
  });

  it("gives a whole turn again whose response did not end", async () => {
    const { ask } = await conversation({ behavior: { "paper/both": { cut: "reset", times: 1 } } });
    await expect(ask()).rejects.toThrow();
    expect(await ask()).toBe("data: 1\n\n");
  });

  it("gives the turn again that a client no longer waited for, also beside another request", async () => {
    const { server, ask } = await conversation({
      startOver: false,
      behavior: { "paper/both": [{ delayMs: 60_000 }] },
    });
    const patience = new AbortController();
    const impatient = { method: "POST", body: '{"stream":true}', signal: patience.signal };
    const gaveUp = fetch(`${server.url}/paper/both/v1/write`, impatient).catch(() => "gave up");
    await soon(() => expect(server.requests).toHaveLength(1));
    expect(await ask()).toBe("data: 2\n\n");
    patience.abort();
    expect(await gaveUp).toBe("gave up");
    await new Promise((settle) => setTimeout(settle, 200));
    expect([await ask(), await ask()]).toEqual(["data: 1\n\n", expect.stringContaining("was asked for turn 3")]);
  });

  it("gives the turns again in their order that several clients no longer waited for", async () => {
    const { server, ask } = await conversation({ behavior: { "paper/both": [{ delayMs: 60_000, times: 2 }] } });
    const patience = [new AbortController(), new AbortController()];
    for (const [at, { signal }] of patience.entries()) {
      fetch(`${server.url}/paper/both/v1/write`, { method: "POST", body: '{"stream":true}', signal }).catch(() => {});
      await soon(() => expect(server.requests).toHaveLength(at + 1));
    }
    for (const client of patience) {
      client.abort();
      await new Promise((settle) => setTimeout(settle, 200));
    }
    expect([await ask(), await ask()]).toEqual(["data: 1\n\n", "data: 2\n\n"]);
  });

  it("fails as it is told to where it has no such body", async () => {
    const server = await serve({ behavior: { "paper/streamed": { status: 529 } } });
    expect((await post(`${server.url}/paper/streamed/v1/write`, {})).status).toBe(529);
  });

  it("begins again with the first turn and the first failure when it is reset", async () => {
    const { server, ask } = await conversation({ behavior: { "paper/both": { status: 529, times: 1 } } });
    const refused = expect.stringContaining('"status":529');
    expect([await ask(), await ask()]).toEqual([refused, "data: 1\n\n"]);
    server.reset();
    expect(server.requests).toEqual([]);
    expect([await ask(), await ask(), await ask()]).toEqual([refused, "data: 1\n\n", "data: 2\n\n"]);
    expect(server.requests).toHaveLength(3);
  });

  it.each<[string, ReplayBehavior]>([
    ["a stream", { headers: { "Content-Type": "text/html" } }],
    ["an error", { status: 502, headers: { "Content-Type": "text/html" } }],
  ])("sends %s with the headers that it is told to, also in place of its own", async (_, how) => {
    const server = await serve({ behavior: { "paper/both": how } });
    const response = await post(`${server.url}/paper/both/v1/write`, { stream: true });
    expect([response.status, response.headers.get("content-type")]).toEqual([how.status ?? 200, "text/html"]);
  });

  it("says that it has no turn left, if it is not to start over", async () => {
    const { stream } = bodyCase(streamBody);
    const fixtures = new Map([["paper/both", { stream: [stream, stream] as Recording[] }]]);
    const server = await serve({ fixtures, startOver: false, behavior: { "paper/both": { status: 529, times: 1 } } });
    const answers: Response[] = [];
    for (let count = 0; count < 4; count++) {
      answers.push(await post(`${server.url}/paper/both/v1/write`, { stream: true }));
    }
    expect(answers.map(({ status }) => status)).toEqual([529, 200, 200, 404]);
    expect(await answers[3]!.text()).toContain("paper/both was asked for turn 3 and has 2.");
  });

  it("takes the turns of a conversation from a directory in their order, streamed and whole apart", async () => {
    const fixtures = temporary();
    const folder = join(fixtures, "paper", "chat");
    await mkdir(folder, { recursive: true });
    const turns = ["stream-0.sse", "stream.sse", "stream-10.sse", "stream-x.sse"];
    for (const name of turns) await writeFile(join(folder, name), `data: "${name}"\n\n`);
    await writeFile(join(folder, "stream-3.json"), wholeBody);
    const server = await serve({ fixtures });
    const ask = async (stream: boolean) => (await post(`${server.url}/paper/chat/v1/write`, { stream })).text();
    const answers = [await ask(true), await ask(false), await ask(true), await ask(true), await ask(true)];
    const [one, two, ten] = turns.map((name) => `data: "${name}"\n\n`);
    expect(answers).toEqual([one, wholeBody, two, ten, one]);
  });

  it("gives concurrent requests the turns in the order in which they came, however long a directory takes", async () => {
    const fixtures = temporary();
    const folder = join(fixtures, "paper", "chat");
    await mkdir(folder, { recursive: true });
    const turns = Array.from({ length: 40 }, (_, turn) => turn + 1);
    for (const turn of turns) await writeFile(join(folder, `stream-${turn}.sse`), `data: "turn ${turn}"\n\n`);
    const server = await serve({ fixtures });
    // All of them in one write: they come at once, and in a known order.
    const sent = `POST /paper/chat/v1/write HTTP/1.1\r\nhost: x\r\ncontent-length: 15\r\n\r\n{"stream":true}`;
    const socket = connect(server.port, "127.0.0.1").setEncoding("utf8");
    socket.write(sent.repeat(turns.length));
    let answers: number[] = [];
    let text = "";
    for await (const piece of socket) {
      text += piece as string;
      answers = [...text.matchAll(/"turn (\d+)"/g)].map(([, turn]) => Number(turn));
      if (answers.length === turns.length) break;
    }
    expect(answers).toEqual(turns);
  });

  it.each([0, 1, 30])("breaks the connection after %i bytes", async (cutAtByte) => {
    const server = await serve({ behavior: { "paper/both": { cutAtByte } } });
    const response = await post(`${server.url}/paper/both/v1/write`, { stream: true });
    const pieces: Uint8Array[] = [];
    const reading = async (): Promise<void> => {
      for await (const piece of response.body!) pieces.push(piece);
    };
    await expect(reading()).rejects.toThrow();
    expect(Buffer.concat(pieces)).toEqual(Buffer.from(streamBody).subarray(0, cutAtByte));
  });

  it("ends the response early as if that were all", async () => {
    const server = await serve({ behavior: { "paper/both": { cutAtByte: 30, cut: "end" } } });
    const response = await post(`${server.url}/paper/both/v1/write`, { stream: true });
    expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.from(streamBody).subarray(0, 30));
  });

  const error = { type: "error", message: "Overloaded" };
  const served = 'event: error\ndata: {"type":"error","message":"Overloaded"}\n\n';
  const events = [
    'data: {"n":1}',
    ": a comment",
    'data: {"n":2}',
    "event: ping\nid: 3",
    'data: {"n":3}\nid: 4',
    "data: [DONE]",
  ];
  it.each([
    ["LF", "\n", "text/event-stream"],
    ["CRLF", "\r\n", "text/event-stream"],
    ["CR", "\r", undefined],
  ])("ends a stream with an event after so many others, with line ends of %s", async (_, eol, contentType) => {
    const text = (all: readonly string[]) => all.map((event) => `${event}\n\n`.replaceAll("\n", eol)).join("");
    const stream = { ...bodyCase(text(events)).stream!, contentType } as Recording;
    for (const [cutAtEvent, kept] of [0, 1, 3, 5, 6, 6].entries()) {
      const behavior = { "paper/cut": { cutAtEvent, append: error } };
      const server = await serve({ fixtures: new Map([["paper/cut", { stream }]]), behavior });
      const response = await post(`${server.url}/paper/cut/v1/write`, { stream: true });
      expect(await response.text()).toBe(text(events.slice(0, kept)) + served);
    }
  });

  it.each([
    ["an NDJSON line", '{"n":1}\n{"n":2}\n', { cutAtEvent: 1, append: error }, `{"n":1}\n${JSON.stringify(error)}\n`],
    [
      "an NDJSON line in place of all",
      '{"n":1}\n{"n":2}\n',
      { cutAtEvent: 0, append: error },
      `${JSON.stringify(error)}\n`,
    ],
    ["text as it is", streamBody, { cutAtByte: 9, append: "<html>" }, 'data: {"d<html>'],
    ["text in place of all", streamBody, { cutAtByte: 0, append: "<html>" }, "<html>"],
    ["an event whose end was trimmed", 'data: {"n":1}\n', { append: error }, `data: {"n":1}\n\n\n${served}`],
    ["after a byte order mark", `\uFEFF${streamBody}`, { cutAtEvent: 1, append: "!" }, 'data: {"delta":"Hél"}\n\n!'],
  ])("appends %s", async (_, body, how, answer) => {
    const fixtures = new Map([["paper/cut", bodyCase(body)]]);
    const server = await serve({ fixtures, behavior: { "paper/cut": how } });
    expect(await (await post(`${server.url}/paper/cut/v1/write`, { stream: true })).text()).toBe(answer);
  });

  it.each([{ append: error }, { cutAtEvent: 1 }])("says that a JSON document has no events: %j", async (how) => {
    const server = await serve({ behavior: { "paper/both": how } });
    const response = await post(`${server.url}/paper/both/v1/write`, {});
    expect([response.status, await response.text()]).toEqual([
      500,
      expect.stringContaining("A JSON document has no events: cut it with"),
    ]);
  });

  it("keeps the timing of what it sends", async () => {
    const bytes = new TextEncoder().encode(streamBody);
    const chunks = [20, bytes.length - 20].map((length, at) => ({ atMs: 60 * at, length }));
    const stream = { bytes, chunks, complete: true };
    const behavior = { "paper/slow": { cutAtEvent: 1, append: error } };
    const server = await serve({ fixtures: new Map([["paper/slow", { stream }]]), behavior, speed: 1 });
    const start = performance.now();
    const response = await post(`${server.url}/paper/slow/v1/write`, { stream: true });
    expect(await response.text()).toBe(`data: {"delta":"Hél"}\n\n${served}`);
    expect(performance.now() - start).toBeGreaterThanOrEqual(59);
  });

  it("does not wait for the time of what it cuts off", async () => {
    const { stream } = bodyCase(streamBody);
    const chunks = [0, 3_600_000].map((atMs) => ({ atMs, length: 30 }));
    const behavior = { "paper/slow": { cutAtByte: 30, append: "<html>" } };
    const fixtures = new Map([["paper/slow", { stream: { ...(stream as Recording), chunks } }]]);
    const server = await serve({ fixtures, behavior, speed: 1 });
    const response = await post(`${server.url}/paper/slow/v1/write`, { stream: true });
    expect(Buffer.from(await response.arrayBuffer())).toEqual(
      Buffer.concat([Buffer.from(streamBody).subarray(0, 30), Buffer.from("<html>")]),
    );
  });

  it("breaks the connection after an event, if it is told to", async () => {
    const server = await serve({ behavior: { "paper/both": { cutAtEvent: 1, append: error, cut: "reset" } } });
    const response = await post(`${server.url}/paper/both/v1/write`, { stream: true });
    await expect(response.text()).rejects.toThrow();
  });

  it("sends the headers before there is a body", async () => {
    const server = await serve({ behavior: { "paper/both": { cutAtByte: 0, cut: "stall" } } });
    expect((await post(`${server.url}/paper/both/v1/write`, { stream: true })).status).toBe(200);
  });

  it("stalls: sends nothing more, and leaves the connection open", async () => {
    const server = await serve({ behavior: { "paper/both": { cutAtEvent: 1, cut: "stall" } } });
    const response = await post(`${server.url}/paper/both/v1/write`, { stream: true });
    const reader = response.body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('data: {"delta":"Hél"}\n\n');
    const more = reader.read();
    const waited = new Promise((settle) => setTimeout(settle, 200, "nothing"));
    expect(await Promise.race([more, waited])).toBe("nothing");
    await Promise.all([server.close(), expect(more).rejects.toThrow()]);
  });

  it("fails one request after the other in its own way, and then no more", async () => {
    const how = [{ status: 429, headers: { "retry-after": "7" } }, {}, { status: 503, times: 2 }];
    const server = await serve({ behavior: { "paper/both": how } });
    const answers: unknown[] = [];
    for (let count = 0; count < 5; count++) {
      const { status, headers } = await post(`${server.url}/paper/both/v1/write`, { stream: true });
      answers.push([status, headers.get("retry-after")]);
    }
    const none = null;
    expect(answers).toEqual([
      [429, "7"],
      [200, none],
      [503, none],
      [503, none],
      [200, none],
    ]);
  });

  it("fails in the last way for ever, if it is told to", async () => {
    const how = [{ status: 429 }, { status: 503, times: Infinity, message: undefined }];
    const server = await serve({ behavior: { "paper/both": how } });
    const ask = async () => (await post(`${server.url}/paper/both/v1/write`, { stream: true })).status;
    expect([await ask(), await ask(), await ask()]).toEqual([429, 503, 503]);
  });

  it.each([Infinity, 1e12])("does not answer at all when it is to wait %d ms", async (delayMs) => {
    const server = await serve({ behavior: { "paper/both": { delayMs } } });
    const asked = { method: "POST", body: '{"stream":true}', signal: AbortSignal.timeout(300) };
    await expect(fetch(`${server.url}/paper/both/v1/write`, asked)).rejects.toThrow("timeout");
  });

  it("waits before it answers", async () => {
    const server = await serve({ behavior: { "paper/both": { delayMs: 50 } } });
    const start = performance.now();
    await post(`${server.url}/paper/both/v1/write`, { stream: true });
    expect(performance.now() - start).toBeGreaterThanOrEqual(49);
  });

  it("refuses a port that is taken", async () => {
    const server = await serve();
    await expect(serve({ port: server.port })).rejects.toThrow(/EADDRINUSE/);
  });
});

/** A directory of cases, with a way out of it. */
async function directory(): Promise<string> {
  const root = temporary();
  const put = async (path: string, text: string): Promise<void> => {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), text);
  };
  await put("secret/paper/x/stream.sse", "data: secret\n\n");
  await put("fixtures/paper/both/stream.sse", streamBody);
  await put("fixtures/paper/.hidden/stream.sse", streamBody);
  await put("fixtures/paper/both/stream.json", `\n${wholeBody}`);
  await put("fixtures/paper/both/stream.ndjson", '{"not":"this"}\n');
  await put("fixtures-too/stream.sse", "data: secret\n\n");
  await symlink(join(root, "fixtures-too"), join(root, "fixtures/paper/beside"));
  await put("fixtures/paper/list/stream.json", '[{"a":1}]');
  await put("fixtures/paper/list/meta.json", "null");
  await put("fixtures/paper/lines/stream.ndjson", '{"a":1}\n{"b":2}\n');
  await put("fixtures/paper/failing/stream.sse", streamBody);
  await put("fixtures/paper/failing/meta.json", '{"title":"x","serve":{"status":503}}');
  await put("fixtures/paper/misspelt/stream.sse", streamBody);
  await put("fixtures/paper/misspelt/meta.json", '{"title":"x","serve":{"sttus":503}}');
  await put("fixtures/paper/broken/stream.sse", streamBody);
  await put("fixtures/paper/broken/meta.json", "{");
  await symlink(join(root, "secret/paper/x"), join(root, "fixtures/paper/linked"));
  await mkdir(join(root, "fixtures/paper/inner"));
  await symlink(join(root, "secret/paper/x/stream.sse"), join(root, "fixtures/paper/inner/stream.sse"));
  await symlink(join(root, "fixtures/paper/both"), join(root, "fixtures/paper/again"));
  return join(root, "fixtures");
}

describe("fixtures in a directory", () => {
  it.each([
    ["both", true, "text/event-stream", streamBody],
    ["both", false, "application/json", `\n${wholeBody}`],
    ["list", true, "application/json", '[{"a":1}]'],
    ["lines", true, "application/x-ndjson", '{"a":1}\n{"b":2}\n'],
    ["again", true, "text/event-stream", streamBody],
  ])("answer for %s, streamed: %s", async (name, stream, type, body) => {
    const server = await serve({ fixtures: await directory() });
    const response = await post(`${server.url}/paper/${name}/v1/write`, { stream });
    expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([200, type, body]);
  });

  it("fail as they are told to, also one that is linked", async () => {
    const server = await serve({ fixtures: await directory(), behavior: { "paper/again": { status: 529 } } });
    expect((await post(`${server.url}/paper/again/v1/write`, { stream: true })).status).toBe(529);
    const nothing = serve({ fixtures: await directory(), behavior: { "paper/linked": { status: 529 } } });
    await expect(nothing).rejects.toThrow('no case "linked" of paper');
  });

  it("answer as their meta.json says, if nobody says otherwise", async () => {
    const otherwise = await serve({ fixtures: await directory(), behavior: { "paper/failing": { status: 529 } } });
    expect((await post(`${otherwise.url}/paper/failing/v1/write`, { stream: true })).status).toBe(529);
    const server = await serve({ fixtures: await directory() });
    const failing = await post(`${server.url}/paper/failing/v1/write`, { stream: true });
    expect(failing.status).toBe(503);
    const broken = await post(`${server.url}/paper/broken/v1/write`, { stream: true });
    expect([broken.status, await broken.text()]).toEqual([500, expect.stringMatching(/meta\.json is not JSON/)]);
    const misspelt = await post(`${server.url}/paper/misspelt/v1/write`, { stream: true });
    const words = expect.stringMatching(/meta\.json: its \\"serve\\" has the unknown key/);
    expect([misspelt.status, await misspelt.text()]).toEqual([500, words]);
  });

  it("that are not there are told with the folder that was searched", async () => {
    const server = await serve({ fixtures: import.meta.dirname });
    const response = await post(`${server.url}/paper/both/v1/write`, { stream: true });
    expect([response.status, await response.text()]).toEqual([
      404,
      expect.stringContaining(`of paper in ${import.meta.dirname}. There are none.`),
    ]);
  });

  it("that hold no file of the right name are told as such", async () => {
    const fixtures = await directory();
    await mkdir(join(fixtures, "paper/misnamed"));
    await writeFile(join(fixtures, "paper/misnamed/call.sse"), streamBody);
    const server = await serve({ fixtures });
    const response = await post(`${server.url}/paper/misnamed/v1/write`, { stream: true });
    expect([response.status, await response.text()]).toEqual([
      404,
      expect.stringContaining(`of paper in ${fixtures} has no recording: a file stream.sse, .ndjson or .json.`),
    ]);
  });

  it("are missed at once if there is no such folder", async () => {
    const missing = join(process.cwd(), "no/such/folder");
    await expect(serve({ fixtures: "no/such/folder" })).rejects.toThrow(
      new TypeError(`fixtures: there is no directory ${missing}`),
    );
    await expect(serve({ fixtures: import.meta.filename })).rejects.toThrow(/no directory .*serve\.test\.ts$/);
  });

  it("cannot be left", async () => {
    const server = await serve({ fixtures: await directory() });
    const paths = [
      ["/paper/../../secret/paper/x/v1/write", 404],
      ["/paper/%2e%2E/secret/v1/write", 404],
      ["/paper/..%2f..%2fsecret/v1/write", 404],
      ["/paper/..%5c..%5csecret/v1/write", 404],
      ["/paper/%2Fetc/v1/write", 404],
      ["/paper/both%00/v1/write", 404],
      ["//etc/passwd/v1/write", 404],
      ["//[/v1/write", 404],
      ["/paper/%ff/v1/write", 404],
      ["/paper/.hidden/v1/write", 404],
      ["/paper/linked/v1/write", 404],
      ["/paper/beside/v1/write", 404],
      ["/paper/inner/v1/write", 404],
      ["http://127.0.0.1/paper/both/v1/write", 400],
    ] as const;
    for (const [path, status] of paths) expect(await rawStatus(server, path), path).toBe(status);
    expect(server.requests).toEqual([]);
  });
});

describe("closing", () => {
  const endless = {
    ...bodyCase(streamBody),
    stream: {
      ...bodyCase(streamBody).stream!,
      chunks: [
        { atMs: 0, length: 5 },
        { atMs: 3_600_000, length: 5 },
      ],
    },
  };

  it("breaks what is open, once or twice", async () => {
    const server = await serve({ fixtures: new Map([["paper/endless", endless]]), speed: 1 });
    const response = await post(`${server.url}/paper/endless/v1/write`, { stream: true });
    const reading = response.text();
    await Promise.all([server.close(), expect(reading).rejects.toThrow()]);
    await server.close();
    await expect(post(`${server.url}/paper/endless/v1/write`, {})).rejects.toThrow();
  });

  it("comes with the signal", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const server = await serve({ fixtures: new Map([["paper/endless", endless]]), speed: 1, signal });
    const response = await post(`${server.url}/paper/endless/v1/write`, { stream: true });
    const reading = response.text();
    controller.abort();
    await expect(reading).rejects.toThrow();
    await expect(post(`${server.url}/paper/both/v1/write`, {})).rejects.toThrow();
    await server.close();
    expect(getEventListeners(signal, "abort")).toEqual([]);
    await expect(serve({ signal })).rejects.toThrow();
  });

  it("comes with a signal that fires before it listens", async () => {
    const [free, controller] = [await serve(), new AbortController()];
    await free.close();
    const started = serve({ port: free.port, signal: controller.signal });
    controller.abort(new Error("too late"));
    await expect(started).rejects.toThrow("too late");
    await expect(serve({ port: free.port })).resolves.toBeDefined();
  });

  it("leaves nothing that keeps the process alive", async () => {
    const program = `
      import { serveReplay, recordingProxy } from ${JSON.stringify(new URL("../../src/replay/index.ts", import.meta.url).href)};
      import { bodyCase, paper, post, streamBody } from ${JSON.stringify(new URL("./wire.ts", import.meta.url).href)};
      const slow = { ...bodyCase(streamBody).stream, chunks: [{ atMs: 0, length: 5 }, { atMs: 3600000, length: 5 }] };
      const fixtures = new Map([["paper/slow", { stream: slow }]]);
      const behavior = { "paper/late": { delayMs: 3600000 } };
      fixtures.set("paper/late", bodyCase(streamBody));
      const server = await serveReplay({ adapters: [paper], fixtures, behavior, speed: 1 });
      const proxy = await recordingProxy({ url: server.url });
      post(proxy.url + "/paper/late/v1/write", { stream: true }).catch(() => {});
      const response = await post(proxy.url + "/paper/slow/v1/write", { stream: true });
      await response.body.getReader().read();
      await proxy.close();
      await server.close();
      console.log("closed");
    `;
    const run = promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], { timeout: 20_000 });
    expect((await run).stdout).toBe("closed\n");
  });
});
