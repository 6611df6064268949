import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { get, ServerResponse, type IncomingMessage, type Server } from "node:http";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { openaiChat } from "../adapters/openai-chat/index.ts";
import { ApprovalService } from "../src/execute/approvals/index.ts";
import { applyChanges, defineTool, jsonSchema } from "../src/index.ts";
import { Orchestrator } from "../src/run/index.ts";
import { memoryStore } from "../src/store/index.ts";
import { replayModel } from "../src/testing/index.ts";
import { blocksOf, root } from "./doc-blocks.ts";
import { temporary } from "./temporary.ts";
import { soon } from "./soon.ts";

interface Given {
  readonly orchestrator: Orchestrator;
  server?: Server;
  rooms?: Map<string, { readonly pages: ReadonlySet<unknown> }>;
  POST?: (request: Request) => Promise<Response>;
}

const blocks = blocksOf("docs/browser.md").map(({ code }) => code);
const ofNode = blocks.find((code) => code.includes("function shown"))!;
const shown = ofNode.slice(ofNode.indexOf("function shown"));

/** Runs a route of docs/browser.md as it stands there. */
async function start(orchestrator: Orchestrator, route: string): Promise<Given> {
  const given: Given = { orchestrator };
  vi.stubGlobal("given", given);
  const program = `const { orchestrator } = globalThis.given;
    ${route.replace('"toolstream"', JSON.stringify(pathToFileURL(join(root, "src/errors.ts")).href))}`;
  const file = join(temporary(), "server.mts");
  writeFileSync(file, program.replace("createServer(", "globalThis.given.server = createServer(").replace("3000", "0"));
  await import(/* @vite-ignore */ pathToFileURL(file).href);
  return given;
}

async function urlOf({ server }: Given): Promise<string> {
  onTestFinished(() => void server!.close().closeAllConnections());
  if (!server!.listening) await once(server!, "listening");
  return `http://127.0.0.1:${(server!.address() as AddressInfo).port}/chat?id=c1`;
}

/** The server that several pages share. */
async function startShared(orchestrator: Orchestrator): Promise<Given> {
  const rooms = blocks.find((code) => code.includes("const rooms"))!;
  return start(orchestrator, `${rooms}\nglobalThis.given.rooms = rooms;\n${shown}`);
}

async function serverOfTheDocs(orchestrator: Orchestrator): Promise<string> {
  return urlOf(await startShared(orchestrator));
}

/** The route that takes a `Request` and returns a `Response`. */
async function startWeb(orchestrator: Orchestrator): Promise<(request: Request) => Promise<Response>> {
  const route = blocks.find((code) => code.includes("function POST"))!;
  const { POST } = await start(orchestrator, `${route}\nglobalThis.given.POST = POST;\n${shown}`);
  return POST!;
}

/** Asks for a run, by each route. Hold on to the response: Node cancels the unread body of one that is collected. */
const routes: Record<string, (orchestrator: Orchestrator) => Promise<Response>> = {
  async node(orchestrator) {
    const url = await urlOf(await start(orchestrator, ofNode));
    const body = JSON.stringify({ conversationId: "c1", input: "Go" });
    return fetch(url, { method: "POST", body });
  },
  async web(orchestrator) {
    const POST = await startWeb(orchestrator);
    const body = JSON.stringify({ conversationId: "c1", input: "Go" });
    return POST(new Request("http://localhost/chat", { method: "POST", body }));
  },
};

/** What a page shows: as its code in the docs has it. */
function openPage(url: string) {
  const page = { said: {} as Record<string, any>, text: "", inputs: {} as Record<string, unknown>, length: 0 };
  const leave = new AbortController();
  onTestFinished(() => leave.abort());
  void (async () => {
    const response = await fetch(url, { signal: leave.signal });
    let rest = "";
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      page.length += piece.length;
      const messages = (rest + piece).split("\n\n");
      rest = messages.pop()!;
      for (const message of messages)
        if (message.startsWith("data: ")) take(JSON.parse(message.slice("data: ".length)));
    }
  })().catch(() => {});
  return page;

  function take(event: any): void {
    if (event.type === "said") page.said = event;
    if (event.type === "said" || event.type === "turn.retried") [page.text, page.inputs] = ["", {}];
    if (event.type === "text-delta") page.text += event.delta;
    if (event.type === "tool-input-delta") {
      page.inputs[event.name] = applyChanges(page.inputs[event.name], event.changes);
    }
  }
}

function choice(delta: object, finish_reason: string | null = null) {
  return { choices: [{ index: 0, delta, finish_reason }] };
}

it("a page that is opened in the middle of a turn shows what the first one shows, as do both to the end", async () => {
  const letter = "Dear Ada, ".repeat(400);
  const half = Promise.withResolvers<void>();
  const model = replayModel(openaiChat, [
    async function* () {
      yield choice({ content: "I write." });
      yield choice({
        tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "send", arguments: "" } }],
      });
      for (const [at, text] of JSON.stringify({ letter })
        .match(/.{1,10}/g)!
        .entries()) {
        if (at === 200) await half.promise;
        yield choice({ tool_calls: [{ index: 0, function: { arguments: text } }] });
      }
      yield choice({}, "tool_calls");
    },
    Response.json({ choices: [{ message: { content: "It is sent." }, finish_reason: "stop" }] }),
  ]);
  const execute = vi.fn(() => "sent");
  const tools = [
    defineTool({ name: "send", inputSchema: jsonSchema({ type: "object" }), needsApproval: true, execute }),
  ];
  const store = memoryStore();
  const approvals = new ApprovalService({ store, tools });
  const url = await serverOfTheDocs(new Orchestrator({ model, tools, store, approvals }));
  const post = (body: object) => fetch(url, { method: "POST", body: JSON.stringify(body) });

  const first = openPage(url);
  await soon(() => expect(first.said["entries"]).toEqual([]));
  await post({ input: "Write to Ada." });
  const begun = letter.slice(0, 2000 - '{"letter":"'.length);
  await soon(() => expect(first.inputs).toEqual({ send: { letter: begun } }));
  const second = openPage(url);
  await soon(() => expect(second).toMatchObject({ said: first.said, text: "I write.", inputs: first.inputs }));
  half.resolve();
  await soon(() => expect(second.said["status"]).toBe("awaiting_approval"));
  await soon(() => expect(first.said).toEqual(second.said));
  expect(first.length).toBeLessThan(20 * letter.length);
  expect(execute).not.toHaveBeenCalled();

  await post({ approve: second.said["approvals"][0].id });
  await soon(() => expect(first.said["status"]).toBe("completed"));
  expect(first.said["entries"].map(({ text }: { text: string }) => text)).toEqual([
    "Write to Ada.",
    "I write.",
    "It is sent.",
  ]);
  expect(execute).toHaveBeenCalledOnce();
});

it("a page stops what is said and what waits for that; a body that is no JSON harms nobody", async () => {
  const model = replayModel(openaiChat, [
    async function* () {
      yield choice({ content: "Once upon a time" });
      await new Promise(() => {});
    },
  ]);
  const url = await serverOfTheDocs(new Orchestrator({ model, store: memoryStore() }));
  const post = (body: string) => fetch(url, { method: "POST", body });
  const page = openPage(url);
  await soon(() => expect(page.said["entries"]).toEqual([]));
  await post('{"input":"Tell me a story."}');
  await soon(() => expect(page.text).toBe("Once upon a time"));
  await post('{"input":"And then?"}');
  await expect(post('{"input":')).rejects.toThrow(TypeError);
  await post('{"stop":true}');
  await soon(() => expect(page.said).toMatchObject({ status: "error", error: "aborted" }));
});

it("what is approved on a page counts, though another call that was approved is still running", async () => {
  const hold = Promise.withResolvers<void>();
  const call = (index: number, name: string) => ({
    index,
    id: `call_${index}`,
    type: "function",
    function: { name, arguments: "{}" },
  });
  const model = replayModel(openaiChat, [
    [choice({ tool_calls: [call(0, "slow"), call(1, "quick")] }), choice({}, "tool_calls")],
    [choice({ content: "Both are done." }), choice({}, "stop")],
  ]);
  const tool = (name: string, execute: () => unknown) =>
    defineTool({ name, inputSchema: jsonSchema({ type: "object" }), needsApproval: true, execute });
  const slow = vi.fn(() => hold.promise.then(() => "done"));
  const tools = [tool("slow", slow), tool("quick", () => "done")];
  const store = memoryStore();
  const approvals = new ApprovalService({ store, tools });
  const url = await serverOfTheDocs(new Orchestrator({ model, tools, store, approvals }));
  const post = (body: object) => fetch(url, { method: "POST", body: JSON.stringify(body) });
  const page = openPage(url);
  await soon(() => expect(page.said["entries"]).toEqual([]));
  await post({ input: "Go" });
  await soon(() => expect(page.said["approvals"]).toHaveLength(2));
  const [{ id: one }, { id: other }] = page.said["approvals"];
  await post({ approve: one });
  await soon(() => expect(slow).toHaveBeenCalled());
  await soon(() => expect(page.said["approvals"].map(({ id }: { id: string }) => id)).toEqual([other]));
  await post({ approve: other });
  hold.resolve();
  await soon(() => expect(page.said["status"]).toBe("completed"));
});

it("a page that is reloaded knows which calls it is to answer", async () => {
  const call = { index: 0, id: "call_1", type: "function", function: { name: "locate", arguments: '{"exact":true}' } };
  const model = replayModel(openaiChat, [
    [choice({ tool_calls: [call] }), choice({}, "tool_calls")],
    [choice({ content: "You are in Oslo." }), choice({}, "stop")],
  ]);
  const tools = [defineTool({ name: "locate", inputSchema: jsonSchema({ type: "object" }) })];
  const url = await serverOfTheDocs(new Orchestrator({ model, tools, store: memoryStore() }));
  const post = (body: object) => fetch(url, { method: "POST", body: JSON.stringify(body) });
  await post({ input: "Where am I?" });
  const page = openPage(url);
  await soon(() => expect(page.said["calls"]).toMatchObject([{ name: "locate", input: { exact: true } }]));
  await post({ toolResults: [{ toolCallId: page.said["calls"][0].id, result: "Oslo" }] });
  await soon(() => expect(page.said).toMatchObject({ status: "completed", calls: [] }));
});

/** Says so many words; `said()` is how many of them were asked for. */
function talkative(words: number, word: string) {
  let said = 0;
  const model = replayModel(openaiChat, [
    async function* () {
      while (said < words) {
        said++;
        yield choice({ content: word });
      }
      yield choice({}, "stop");
    },
  ]);
  return { model, said: () => said };
}

/** Waits until a count grows no more, for all that one can tell. */
async function standsStill(count: () => number): Promise<void> {
  for (let before = -1, rounds = 0; rounds < 200; rounds++) {
    if (count() !== before) rounds = 0;
    before = count();
    await setImmediate();
  }
}

it.each(Object.keys(routes))(
  "a page that does not read holds up its run, until it reads or leaves (%s)",
  async (name) => {
    const words = 4_000;
    for (const reads of [true, false]) {
      const { model, said } = talkative(words, "x".repeat(4_096));
      const orchestrator = new Orchestrator({ model, store: memoryStore() });
      const response = await routes[name]!(orchestrator);
      await soon(() => expect(said()).toBeGreaterThan(10));
      await standsStill(said);
      expect(said()).toBeLessThan(words);
      if (reads) expect(await response.text()).toMatch(/"status":"completed"/);
      else await response.body!.cancel();
      const status = reads ? "completed" : "error";
      await soon(async () => expect(await orchestrator.get("c1")).toMatchObject({ status }));
    }
  },
);

// CopilotKit 6980: proxies close a connection on which nothing is said while a tool runs.
it.each(["node", "web", "shared"])("a connection on which nothing is said is kept open (%s)", async (name) => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const silent = () => new Promise<never>(() => {});
  const model = replayModel(openaiChat, [
    async function* () {
      yield choice({ content: "I think." });
      await silent();
    },
  ]);
  const orchestrator = new Orchestrator({ model, store: memoryStore() });
  const response = name === "shared" ? fetch(await serverOfTheDocs(orchestrator)) : routes[name]!(orchestrator);
  const reader = (await response).body!.getReader();
  onTestFinished(() => reader.cancel());
  const next = async () => new TextDecoder().decode((await reader.read()).value);
  while (!/I think|said/.test(await next()));
  vi.advanceTimersByTime(15_000);
  expect(await next()).toBe(": \n\n");
});

it("nothing is written behind the end of an answer that a page has not read: that would end the server", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  // As if its last bytes were still waiting for the page.
  const end = vi.spyOn(ServerResponse.prototype, "end").mockReturnThis();
  const write = vi.spyOn(ServerResponse.prototype, "write");
  onTestFinished(() => [end, write].forEach((spy) => spy.mockRestore()));
  const { model } = talkative(1, "Hello.");
  await routes["node"]!(new Orchestrator({ model, store: memoryStore() }));
  await soon(() => expect(end).toHaveBeenCalled());
  write.mockClear();
  vi.advanceTimersByTime(60_000);
  expect(write).not.toHaveBeenCalled();
});

it("a shared conversation that nobody looks at any more takes no memory", async () => {
  const { model } = talkative(3, "So. ");
  const given = await startShared(new Orchestrator({ model, store: memoryStore() }));
  const url = await urlOf(given);
  const leave = new AbortController();
  const page = await fetch(url, { signal: leave.signal });
  await fetch(url, { method: "POST", body: '{"stop":true}' });
  expect(given.rooms!.size).toBe(1);
  await fetch(url, { method: "POST", body: '{"input":"Go"}' });
  leave.abort();
  await page.text().catch(() => {});
  await soon(() => expect(given.rooms!.size).toBe(0));
});

it("a page that is back after a restart sees what the process that died was saying", async () => {
  const before = memoryStore();
  const store = memoryStore();
  const first = new Orchestrator({ model: talkative(Infinity, "So. ").model, store: before, leaseMs: 500 });
  for await (const { type } of first.stream({ conversationId: "c1", input: "Go" })) {
    if (type !== "text-delta") continue;
    // As it is found after `kill -9`.
    for (const { key, value } of await before.list("")) await store.put(key, value);
    break;
  }
  const seen = Promise.withResolvers<void>();
  const model = replayModel(openaiChat, [
    async function* () {
      await seen.promise;
      yield choice({ content: "Well." }, "stop");
    },
  ]);
  const page = openPage(await serverOfTheDocs(new Orchestrator({ model, store })));
  await soon(() => expect(page.said["error"]).toBe("run_busy"));
  seen.resolve();
  await soon(() => expect(page.said["entries"]?.at(-1)).toMatchObject({ text: "Well." }));
});

it("a page that does not read is let go, and harms no other one", async () => {
  const word = "x".repeat(2 ** 17);
  const words = 240;
  let other: ReturnType<typeof openPage>;
  const model = replayModel(openaiChat, [
    async function* () {
      for (let said = 0; said < words; said++) {
        while (other.text.length < (said - 4) * word.length) await setImmediate();
        yield choice({ content: word });
      }
      await new Promise(() => {});
    },
  ]);
  const given = await startShared(new Orchestrator({ model, store: memoryStore() }));
  const url = await urlOf(given);
  const deaf = await new Promise<IncomingMessage>((resolve) => get(url, resolve));
  onTestFinished(() => void deaf.on("error", () => {}).destroy());
  other = openPage(url);
  await soon(() => expect(other.said["entries"]).toEqual([]));
  const rooms = given.rooms!;
  expect(rooms.get("c1")!.pages.size).toBe(2);
  await fetch(url, { method: "POST", body: '{"input":"Go"}' });
  await soon(() => expect(other.text.length).toBe(words * word.length));
  expect(rooms.get("c1")!.pages.size).toBe(1);
});

it("a route answers, and ends the run whose page has gone, also where signals cannot be combined", async () => {
  // Vercel's edge runtime, in which such a route may run.
  const { any } = AbortSignal;
  Reflect.deleteProperty(AbortSignal, "any");
  onTestFinished(() => void Object.assign(AbortSignal, { any }));
  const hang = async function* () {
    yield choice({ content: "Once upon a time" });
    await new Promise(() => {});
  };
  const model = replayModel(openaiChat, [
    Response.json({ choices: [{ message: { content: "Hello." }, finish_reason: "stop" }] }),
    hang,
    hang,
  ]);
  const orchestrator = new Orchestrator({ model, store: memoryStore() });
  const POST = await startWeb(orchestrator);
  const ask = (conversationId: string, signal: AbortSignal | null = null) => {
    const body = JSON.stringify({ conversationId, input: "Hello" });
    return POST(new Request("http://localhost/chat", { method: "POST", body, signal }));
  };

  const text = await (await ask("c1")).text();
  expect(text).toContain('data: {"type":"text-delta","delta":"Hello."}');
  expect(text).toContain('"type":"run.ended","status":"completed"');

  const gone = new AbortController();
  const cut = (await ask("c2", gone.signal)).body!.getReader();
  const left = (await ask("c3")).body!.getReader();
  for (const reader of [cut, left]) for (let at = 0; at < 2; at++) expect((await reader.read()).done).toBe(false);
  gone.abort();
  await left.cancel();
  const rest = async () => {
    while (!(await cut.read()).done);
  };
  await expect(rest()).rejects.toThrow(/abort/);
  for (const id of ["c2", "c3"]) {
    await soon(async () => expect(await orchestrator.get(id)).toMatchObject({ error: { code: "aborted" } }));
  }
});
