import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import type { Server } from "node:http";
import { join } from "node:path";
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
import { soon } from "./workers/support.ts";

/** The server of docs/browser.md that several pages share, as it stands there. */
async function serverOfTheDocs(orchestrator: Orchestrator): Promise<string> {
  const blocks = blocksOf("docs/browser.md").map(({ code }) => code);
  const route = blocks.find((code) => code.includes("function shown"))!;
  const rooms = blocks.find((code) => code.includes("const rooms"))!;
  const program = `const { orchestrator } = globalThis.given;
    ${rooms.replace('"toolstream"', JSON.stringify(pathToFileURL(join(root, "src/errors.ts")).href))}
    ${route.slice(route.indexOf("function shown"))}`;
  const file = join(temporary(), "server.mts");
  writeFileSync(file, program.replace("createServer(", "globalThis.given.server = createServer(").replace("3000", "0"));
  const given: { orchestrator: Orchestrator; server?: Server } = { orchestrator };
  vi.stubGlobal("given", given);
  await import(/* @vite-ignore */ pathToFileURL(file).href);
  const server = given.server!;
  onTestFinished(() => void server.close().closeAllConnections());
  if (!server.listening) await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/chat?id=c1`;
}

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
      for (const message of messages) take(JSON.parse(message.slice("data: ".length)));
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
