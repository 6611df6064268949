import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import http from "node:http";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { loadRecording, recordingProxy, replay, saveRecording, serveReplay } from "../../src/replay/index.ts";
import type {
  ProxyOptions,
  RecordedResponse,
  Recording,
  RecordingProxy,
  ServeOptions,
} from "../../src/replay/index.ts";
import { endpoint } from "../endpoint.ts";
import { temporary } from "../temporary.ts";
import { bodyCase, paper, post, streamBody, wholeBody } from "./wire.ts";

type Kept = [Recording, RecordedResponse];

/** A proxy in front of a replay server. */
async function setUp(
  options: Partial<ProxyOptions> = {},
  upstream: Partial<ServeOptions> = {},
): Promise<{ proxy: RecordingProxy; kept: Kept[]; requests: readonly { body: unknown }[] }> {
  const fixtures = new Map([["paper/both", bodyCase(streamBody, wholeBody)]]);
  const server = await serveReplay({ adapters: [paper], fixtures, ...upstream });
  const kept: Kept[] = [];
  const proxy = await recordingProxy({
    url: `${server.url}/paper/both`,
    onRecording: (...recorded) => kept.push(recorded),
    ...options,
  });
  onTestFinished(async () => {
    await proxy.close();
    await server.close();
  });
  return { proxy, kept, requests: server.requests };
}

describe("the recording proxy", () => {
  it("passes a request and its response on, and records the response", async () => {
    const { proxy, kept, requests } = await setUp();
    const response = await post(`${proxy.url}/v1/write?key=s3cret`, { stream: true, a: "é" });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    expect(await response.text()).toBe(streamBody);
    expect(requests).toMatchObject([{ body: { stream: true, a: "é" }, path: "/v1/write" }]);
    await proxy.close();
    expect(kept).toHaveLength(1);
    const [recording, { method, path, status, file }] = kept[0]!;
    expect([method, path, status, file]).toEqual(["POST", "/v1/write", 200, undefined]);
    expect(recording).toMatchObject({ contentType: "text/event-stream", complete: true });
    expect(await new Response(replay(recording)).text()).toBe(streamBody);
  });

  it("writes bodies and timing, and nothing of headers, keys and cookies", async () => {
    const directory = temporary();
    const { proxy } = await setUp({ out: join(directory, "stream.sse") });
    const secrets = { authorization: "Bearer s3cret", "x-api-key": "s3cret", cookie: "a=s3cret" };
    await (await post(`${proxy.url}/v1/write?key=s3cret`, { stream: true }, secrets)).text();
    await (await post(`${proxy.url}/v1/write`, { stream: true }, secrets)).text();
    await proxy.close();
    const names = await readdir(directory);
    expect(names.toSorted()).toEqual([
      "stream-2.sse",
      "stream-2.sse.timing.json",
      "stream.sse",
      "stream.sse.timing.json",
    ]);
    for (const name of names) expect(await readFile(join(directory, name), "utf8")).not.toContain("s3cret");
    expect(await loadRecording(directory)).toMatchObject({ contentType: "text/event-stream", complete: true });
  });

  it("numbers what it keeps in a directory", async () => {
    const directory = temporary();
    for (const out of [`${join(directory, "new")}/`, directory]) {
      const { proxy, kept } = await setUp({ out });
      for (let count = 0; count < 2; count++) await (await post(`${proxy.url}/v1/write`, { stream: true })).text();
      await (await post(`${proxy.url}/v1/write`, {})).text();
      await proxy.close();
      const names = ["stream.sse", "stream-2.sse", "stream-3.json"];
      expect(kept.map(([, { file }]) => file)).toEqual(names.map((name) => join(out, name)));
    }
    expect((await readdir(directory)).filter((name) => !name.startsWith("stream"))).toEqual(["new"]);
  });

  it("tells of what it keeps in its order, however long one is written", async () => {
    const bodies = ["x".repeat(64 * 1024 * 1024), "x"];
    const files: (string | undefined)[] = [];
    const proxy = await recordingProxy({
      url: await endpoint((_, response) => response.end(bodies.shift())),
      out: `${temporary()}/`,
      onRecording: (_, { file }) => files.push(file),
    });
    for (let count = 0; count < 2; count++) await (await post(`${proxy.url}/v1/write`, {})).arrayBuffer();
    await proxy.close();
    expect(files.map((file) => basename(file!))).toEqual(["stream.sse", "stream-2.sse"]);
  });

  it("writes, and the rest reads, where a file URL says", async () => {
    const folder = pathToFileURL(`${temporary()}/`);
    const { proxy } = await setUp({ out: new URL("paper/chat/", folder) });
    await (await post(`${proxy.url}/v1/write`, { stream: true })).text();
    await proxy.close();
    const recording = await loadRecording(new URL("paper/chat", folder));
    await saveRecording(new URL("paper/chat/stream-2.sse", folder), recording);
    const server = await serveReplay({ adapters: [paper], fixtures: folder });
    onTestFinished(() => server.close());
    const ask = async () => (await post(`${server.url}/paper/chat/v1/write`, { stream: true })).text();
    expect([await ask(), await ask()]).toEqual([streamBody, streamBody]);
  });

  it("numbers concurrent responses in the order of their requests, and not the failed ones", async () => {
    const directory = temporary();
    const waiting: (() => void)[] = [];
    const url = await endpoint((request, response) => {
      if (request.url === "/3") return void response.end("the last, over first");
      if (request.url === "/1") response.statusCode = 500;
      response.write(`the answer to ${request.url}`);
      waiting.push(() => response.end());
      if (waiting.length === 2) arrived();
    });
    let arrived = (): void => {};
    const both = new Promise<void>((resolve) => (arrived = resolve));
    const proxy = await recordingProxy({ url, out: `${directory}/` });
    const ask = async (path: string) => (await fetch(proxy.url + path)).text();
    const first = [ask("/1"), ask("/2")];
    await both;
    await ask("/3");
    for (const end of waiting) end();
    await Promise.all(first);
    await proxy.close();
    const bodies = ["stream.sse", "stream-2.sse"].map((name) => readFile(join(directory, name), "utf8"));
    expect(await Promise.all(bodies)).toEqual(["the answer to /2", "the last, over first"]);
  });

  it("tells of what it keeps while a response that it does not keep goes on", async () => {
    const url = await endpoint((request, response) => {
      if (request.url === "/1") response.statusCode = 500;
      response.write("it begins");
      if (request.url === "/2") response.end();
    });
    const kept = Promise.withResolvers<string>();
    const proxy = await recordingProxy({ url, onRecording: (_, { path }) => kept.resolve(path) });
    onTestFinished(() => proxy.close());
    const leave = new AbortController();
    onTestFinished(() => leave.abort());
    expect((await fetch(`${proxy.url}/1`, { signal: leave.signal })).status).toBe(500);
    await (await fetch(`${proxy.url}/2`)).text();
    expect(await kept.promise).toBe("/2");
  });

  it("passes the caller's headers on, and those of the endpoint back", async () => {
    let seen: Record<string, unknown> = {};
    const url = await endpoint((request, response) => {
      seen = request.headers;
      response.setHeader("set-cookie", ["a=1", "b=2"]);
      const zipped = gzipSync(wholeBody);
      response.writeHead(201, { "content-encoding": "gzip", "content-length": zipped.length, "x-request-id": "7" });
      response.end(zipped);
    });
    const kept: Kept[] = [];
    const proxy = await recordingProxy({ url, onRecording: (...recorded) => kept.push(recorded) });
    onTestFinished(() => proxy.close());
    const response = await post(`${proxy.url}//evil.example/../v1`, {}, { authorization: "Bearer s3cret" });
    expect([response.status, response.headers.get("x-request-id"), response.headers.getSetCookie()]).toEqual([
      201,
      "7",
      ["a=1", "b=2"],
    ]);
    expect(await response.text()).toBe(wholeBody);
    expect(seen).toMatchObject({
      authorization: "Bearer s3cret",
      host: new URL(url).host,
      "accept-encoding": "identity",
    });
    await proxy.close();
    expect(new TextDecoder().decode(kept[0]![0].bytes)).toBe(wholeBody);
  });

  it("asks below the path of the endpoint, and adds the client's query to its query", async () => {
    const asked: (string | undefined)[] = [];
    const url = await endpoint((request, response) => void response.end(`${asked.push(request.url)}`));
    const proxy = await recordingProxy({ url: `${url}/base/?key=k&alt=json` });
    onTestFinished(() => proxy.close());
    for (const path of ["/v1", "/v1?alt=sse&a=%20&a=2"]) await (await fetch(proxy.url + path)).text();
    expect(asked).toEqual(["/base/v1?key=k&alt=json", "/base/v1?key=k&alt=sse&a=%20&a=2"]);
  });

  it("sends the query of the endpoint as it was given, where the client's has no parameter of its own for it", async () => {
    const asked: (string | undefined)[] = [];
    const url = await endpoint((request, response) => void response.end(`${asked.push(request.url)}`));
    const proxy = await recordingProxy({ url: `${url}/?filter=a%20b~&flag` });
    onTestFinished(() => proxy.close());
    await (await fetch(`${proxy.url}/v1?a=1`)).text();
    expect(asked).toEqual(["/v1?filter=a%20b~&flag&a=1"]);
  });

  it("passes the headers on before there is a body", async () => {
    const url = await endpoint((_, response) => response.writeHead(200, { "x-request-id": "7" }).flushHeaders());
    const proxy = await recordingProxy({ url });
    onTestFinished(() => proxy.close());
    expect((await fetch(`${proxy.url}/v1`)).headers.get("x-request-id")).toBe("7");
  });

  it("passes no header on that belongs to one connection", async () => {
    let seen: http.IncomingHttpHeaders = {};
    const url = await endpoint((request, response) => {
      seen = request.headers;
      response.writeHead(200, { connection: "close", "content-length": 2 }).end("{}");
    });
    const proxy = await recordingProxy({ url });
    onTestFinished(() => proxy.close());
    const headers = { expect: "100-continue", te: "trailers", connection: "x-mine", "content-length": 2 };
    const sent = http.request(`${proxy.url}/v1`, { method: "POST", headers });
    sent.end("{}");
    const [response] = (await once(sent, "response")) as [http.IncomingMessage];
    response.resume();
    expect([response.statusCode, response.headers.connection]).toEqual([200, "keep-alive"]);
    expect(seen).toMatchObject({ connection: "keep-alive", "content-length": "2" });
    expect(Object.keys(seen)).not.toContain("expect");
  });

  it("passes a redirect on, and does not follow it", async () => {
    const url = await endpoint((_, response) => response.writeHead(302, { location: "/elsewhere" }).end());
    const onSkipped = vi.fn();
    const proxy = await recordingProxy({ url, onSkipped });
    onTestFinished(() => proxy.close());
    const response = await fetch(`${proxy.url}/v1`, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([302, "/elsewhere"]);
    expect(onSkipped.mock.calls).toMatchObject([[{ path: "/v1", status: 302 }]]);
  });

  it("passes a large upload on", async () => {
    let length = 0;
    const url = await endpoint(async (request, response) => {
      for await (const piece of request) length += (piece as Buffer).length;
      response.end("{}");
    });
    const proxy = await recordingProxy({ url });
    onTestFinished(() => proxy.close());
    const body = new Uint8Array(70 * 1024 * 1024);
    expect((await fetch(`${proxy.url}/v1/files`, { method: "POST", body })).status).toBe(200);
    expect(length).toBe(body.length);
  });

  it("passes errors on and does not record them", async () => {
    const onSkipped = vi.fn();
    const { proxy, kept } = await setUp({ onSkipped }, { behavior: { "paper/both": { status: 429 } } });
    const response = await post(`${proxy.url}/v1/write?key=s3cret`, { stream: true });
    expect([response.status, await response.json()]).toEqual([429, expect.objectContaining({ type: "error" })]);
    await proxy.close();
    expect(kept).toEqual([]);
    const reason = "only successful responses are recorded";
    expect(onSkipped.mock.calls).toEqual([[{ method: "POST", path: "/v1/write", status: 429, reason }]]);
  });

  it("records only what the wire takes for its own, if one is given", async () => {
    const other = { ...paper, endpoint: { ...paper.endpoint, match: () => undefined } };
    const onSkipped = vi.fn();
    const { proxy, kept } = await setUp({ wire: other, onSkipped });
    expect(await (await post(`${proxy.url}/v1/write`, { stream: true })).text()).toBe(streamBody);
    await proxy.close();
    expect(kept).toEqual([]);
    const reason = "it is not a request of paper";
    expect(onSkipped.mock.calls).toEqual([[{ method: "POST", path: "/v1/write", status: 200, reason }]]);
  });

  it("keeps what came of a response that breaks off, and breaks off too", async () => {
    const { proxy, kept } = await setUp({}, { behavior: { "paper/both": { cutAtByte: 30 } } });
    const response = await post(`${proxy.url}/v1/write`, { stream: true });
    await expect(response.text()).rejects.toThrow();
    await proxy.close();
    expect(kept[0]![0]).toMatchObject({ complete: false });
    expect(Buffer.from(kept[0]![0].bytes)).toEqual(Buffer.from(streamBody).subarray(0, 30));
  });

  it("keeps what came before the client left", async () => {
    const slow = {
      ...bodyCase(streamBody).stream!,
      chunks: [
        { atMs: 0, length: 5 },
        { atMs: 3_600_000, length: 5 },
      ],
    };
    const { proxy, kept } = await setUp({}, { fixtures: new Map([["paper/both", { stream: slow }]]), speed: 1 });
    const response = await post(`${proxy.url}/v1/write`, { stream: true });
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    await proxy.close();
    expect(kept[0]![0]).toMatchObject({ complete: false, bytes: new TextEncoder().encode("data:") });
  });

  it("passes a response without a body on, and does not record it", async () => {
    const statuses = [204, 200];
    const url = await endpoint((_, response) => void response.writeHead(statuses.shift()!).end());
    const onSkipped = vi.fn();
    const { proxy, kept } = await setUp({ url, onSkipped });
    for (const status of [204, 200]) expect((await fetch(`${proxy.url}/v1`)).status).toBe(status);
    await proxy.close();
    expect(kept).toEqual([]);
    expect(onSkipped.mock.calls).toMatchObject([204, 200].map((status) => [{ status, reason: "its body is empty" }]));
  });

  it("tells of nothing where the client left before there was a response", async () => {
    const asked = Promise.withResolvers<void>();
    const url = await endpoint(() => asked.resolve());
    const onSkipped = vi.fn();
    const proxy = await recordingProxy({ url, onSkipped });
    const leave = new AbortController();
    const left = fetch(`${proxy.url}/v1`, { signal: leave.signal });
    await asked.promise;
    leave.abort();
    await expect(left).rejects.toThrow();
    await proxy.close();
    expect(onSkipped).not.toHaveBeenCalled();
  });

  it("says that the endpoint cannot be reached", async () => {
    const gone = await serveReplay({ adapters: [paper], fixtures: new Map() });
    await gone.close();
    const onSkipped = vi.fn();
    const proxy = await recordingProxy({ url: gone.url, onSkipped });
    onTestFinished(() => proxy.close());
    const response = await post(`${proxy.url}/v1/write`, {});
    expect(response.status).toBe(502);
    expect(await response.text()).toMatch(/127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED/);
    expect(onSkipped.mock.calls).toMatchObject([[{ status: 502, reason: expect.stringContaining("ECONNREFUSED") }]]);
  });

  it("says at the end that a recording could not be saved", async () => {
    const directory = temporary();
    const out = join(directory, "file.sse", "below.sse");
    const { proxy } = await setUp({ out: join(directory, "file.sse") });
    await (await post(`${proxy.url}/v1/write`, { stream: true })).text();
    await proxy.close();
    const failing = await setUp({ out });
    await (await post(`${failing.proxy.url}/v1/write`, { stream: true })).text();
    await expect(failing.proxy.close()).rejects.toThrow(/EEXIST|ENOTDIR/);
    const errors: unknown[] = [];
    const reporting = await setUp({ out, onError: (error) => errors.push(error) });
    await (await post(`${reporting.proxy.url}/v1/write`, { stream: true })).text();
    await reporting.proxy.close();
    expect(errors).toHaveLength(1);
  });

  it("says the same of an onRecording that fails, at once or later", async () => {
    const failing = (): void => {
      throw new Error("bucket down");
    };
    for (const onRecording of [failing, async () => failing()]) {
      const { proxy } = await setUp({ onRecording });
      await (await post(`${proxy.url}/v1/write`, { stream: true })).text();
      await expect(proxy.close()).rejects.toThrow("bucket down");
    }
  });

  it("says the same of an onSkipped that fails, and the client gets its response", async () => {
    const failing = (): void => {
      throw new Error("log down");
    };
    for (const onSkipped of [failing, async () => failing()]) {
      const { proxy } = await setUp({ onSkipped });
      expect(await (await post(`${proxy.url}/unknown`, {})).text()).toContain("POST /unknown is not a request");
      await expect(proxy.close()).rejects.toThrow("log down");
    }
  });

  it("refuses a URL that is none", async () => {
    await expect(recordingProxy({ url: "api.example.com" })).rejects.toThrow(TypeError);
    await expect(recordingProxy({ url: "file:///etc/passwd" })).rejects.toThrow(TypeError);
    for (const url of ["https://user:s3cret@api.example.com", "https://s3cret@api.example.com"]) {
      const error: unknown = await recordingProxy({ url }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(TypeError);
      expect(String(error)).not.toContain("s3cret");
    }
  });
});
