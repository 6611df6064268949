import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { CohereClientV2 } from "cohere-ai";
import OpenAI from "openai";
import { describe, expect, it, vi } from "vitest";
import { anthropic } from "../adapters/anthropic/index.ts";
import { cohere } from "../adapters/cohere/index.ts";
import { google } from "../adapters/google/index.ts";
import { googleInteractions } from "../adapters/google-interactions/index.ts";
import { openaiChat } from "../adapters/openai-chat/index.ts";
import { openaiResponses } from "../adapters/openai-responses/index.ts";
import { textHelpers } from "../adapters/text-helpers/index.ts";
import { rescueTextCalls, textJson } from "../adapters/text-json/index.ts";
import { discoverExecutables, loadExecutable } from "../src/executable/index.ts";
import { approvalHandler, ApprovalService, approvalSession, approvalSockets } from "../src/execute/approvals/index.ts";
import { ToolExecutor } from "../src/execute/index.ts";
import { ToolError } from "../src/errors.ts";
import { mcpHandlers, mcpTools } from "../src/mcp/index.ts";
import { recordingProxy, replay, serveReplay } from "../src/replay/index.ts";
import { Orchestrator } from "../src/run/index.ts";
import { jsonSchema } from "../src/schema/index.ts";
import { memoryStore } from "../src/store/index.ts";
import { sqliteStore } from "../src/store/sqlite.ts";
import { replayModel } from "../src/testing/index.ts";
import { defineTool } from "../src/tool/tool.ts";
import { bullmqExecutor, bullmqTools, bullmqWorker } from "../src/workers/bullmq.ts";
import { readers } from "./adapters.ts";

describe("what is called with nothing says what it needs", () => {
  it.each<[string, (nothing: never) => unknown, RegExp]>([
    [
      "new ToolExecutor()",
      (nothing) => new ToolExecutor(nothing),
      /takes an object, \{ tools, store, .* got undefined/,
    ],
    [
      "new Orchestrator()",
      (nothing) => new Orchestrator(nothing),
      /takes an object, \{ model, tools, store, .* got undefined/,
    ],
    ["new ApprovalService()", (nothing) => new ApprovalService(nothing), /needs a store/],
    ["approvalHandler()", (nothing) => approvalHandler(nothing), /needs a service/],
    ["approvalSockets()", (nothing) => approvalSockets(nothing), /needs a service/],
    ["bullmqTools()", (nothing) => bullmqTools([], nothing), /takes an object, \{ connection, .* got undefined/],
    ["bullmqWorker()", (nothing) => bullmqWorker([], nothing), /takes an object, \{ connection, .* got undefined/],
    ["sqliteStore()", (nothing) => sqliteStore(nothing), /needs the path of its file/],
    ["serveReplay()", (nothing) => serveReplay(nothing), /takes a list of adapters/],
    ["recordingProxy()", (nothing) => recordingProxy(nothing), /url has to be an http or https URL/],
    [
      "recordingProxy() with a wire's name",
      (nothing) => recordingProxy({ ...(nothing as object), url: "http://localhost", wire: "anthropic" as never }),
      /wire is an adapter itself, .*got "anthropic"/,
    ],
    ["replayModel()", (nothing) => replayModel(nothing, nothing), /takes an adapter and a list of answers/],
  ])("%s", async (_, call, message) => {
    const calling = async () => call(undefined as never);
    await expect(calling()).rejects.toThrow(TypeError);
    await expect(calling()).rejects.toThrow(message);
  });
});

describe("an option that does not exist is refused, for a rule or a limit with a typo in its name would be none", () => {
  const store = memoryStore();
  const service = new ApprovalService({ store, mayDecide: () => true });
  const executor = new ToolExecutor({ tools: [], store });
  const model = replayModel(anthropic, [""]);
  const guarded = { service, authenticate: () => ({ principal: { id: "ada" } }), origins: [] };
  const connection = { host: "127.0.0.1", port: 1 };
  const tool = { name: "a", inputSchema: jsonSchema({ type: "object" }) };
  it.each<[string, string, string, (wrong: object) => unknown]>([
    ["new ToolExecutor()", "authorise", "authorize", (wrong) => new ToolExecutor({ tools: [], store, ...wrong })],
    ["undoRun()", "onfailure", "onFailure", (wrong) => executor.undoRun("run", undefined, wrong)],
    ["new Orchestrator()", "budget", "budgets", (wrong) => new Orchestrator({ model, store, ...wrong })],
    ["run()", "principle", "principal", (wrong) => new Orchestrator({ model, store }).run({ input: "Hi", ...wrong })],
    ["resume()", "toolResult", "toolResults", (wrong) => new Orchestrator({ model, store }).resume("c1", wrong)],
    ["list()", "state", "status", (wrong) => new Orchestrator({ model, store }).list(wrong)],
    ["new ApprovalService()", "ttlMS", "ttlMs", (wrong) => new ApprovalService({ store, ...wrong })],
    ["list()", "principle", "principal", (wrong) => service.list(wrong)],
    ["subscribe()", "scopes", "scope", (wrong) => service.subscribe(wrong).next()],
    ["approvalHandler()", "redacted", "redact", (wrong) => approvalHandler({ ...guarded, ...wrong })],
    ["approvalSockets()", "rateLimits", "rateLimit", (wrong) => approvalSockets({ ...guarded, ...wrong })],
    [
      "approvalSession()",
      "redactor",
      "redact",
      (wrong) => approvalSession({ service, principal: { id: "ada" }, send: () => {}, ...wrong }),
    ],
    ["mcpTools()", "polciy", "policy", (wrong) => mcpTools({} as never, wrong)],
    ["mcpHandlers()", "executor", "execute", (wrong) => mcpHandlers([], wrong)],
    ["loadExecutable()", "digset", "digest", (wrong) => loadExecutable("/bin/true", wrong)],
    ["discoverExecutables()", "manifests", "manifest", (wrong) => discoverExecutables({ searchPaths: [], ...wrong })],
    ["bullmqTools()", "filters", "filter", (wrong) => bullmqTools([], { connection, ...wrong })],
    ["bullmqWorker()", "maxOutputByte", "maxOutputBytes", (wrong) => bullmqWorker([], { connection, ...wrong })],
    [
      "bullmqExecutor()",
      "authorise",
      "authorize",
      (wrong) => bullmqExecutor({ tools: [], store, connection, ...wrong }),
    ],
    ["serveReplay()", "behaviour", "behavior", (wrong) => serveReplay({ adapters: [], fixtures: new Map(), ...wrong })],
    ["recordingProxy()", "onSkip", "onSkipped", (wrong) => recordingProxy({ url: "http://localhost", ...wrong })],
    ["replay()", "sped", "speed", (wrong) => replay({ bytes: new Uint8Array(), chunks: [], complete: true }, wrong)],
    ["textHelpers()", "maxBlockSize", "maxBlockLength", (wrong) => textHelpers(wrong)],
    ["text-helpers.read() or parse()", "variable", "variables", (wrong) => textHelpers().parse("", wrong)],
    ["text-json/hermes.read() or parse()", "thinks", "thinking", (wrong) => textJson("hermes").parse("", wrong)],
    ["text-json/kimi.model()", "reason", "reasoning", (wrong) => textJson("kimi").model(model, wrong)],
    ["rescueTextCalls()", "notation", "notations", (wrong) => rescueTextCalls(openaiChat, wrong)],
    ["Tool a:", "needApproval", "needsApproval", (wrong) => defineTool({ ...tool, ...wrong })],
  ])("by %s: %s for %s", async (taker, typo, meant, call) => {
    const refused = (async () => call({ [typo]: 1 }))();
    await expect(refused).rejects.toThrow(`no option "${typo}". Did you mean ${meant}?`);
    await expect(refused).rejects.toThrow(taker);
  });
  it("with what there is, if it is like none", () => {
    const nothing = { purpleElephants: true };
    expect(() => new ToolExecutor({ tools: [], store, ...nothing })).toThrow(
      /^new ToolExecutor\(\) has no option "purpleElephants"\. It has tools, store, approvals, authorize, /,
    );
  });
});

describe("a rule that is no function is refused: one that cannot be asked denies, or hides, everything", () => {
  const store = memoryStore();
  const model = replayModel(anthropic, [""]);
  it.each<[string, (wrong: object) => unknown, string[]]>([
    [
      "new ToolExecutor()",
      (wrong) => new ToolExecutor({ tools: [], store, ...wrong }),
      ["onEvent", "authorize", "mayUndo", "redact", "errorMessage", "executableDigest"],
    ],
    ["new Orchestrator()", (wrong) => new Orchestrator({ model, store, ...wrong }), ["onEvent", "trim", "prepareStep"]],
    [
      "new ApprovalService()",
      (wrong) => new ApprovalService({ store, ...wrong }),
      ["mayDecide", "validateInput", "onError", "now"],
    ],
    ["mcpHandlers()", (wrong) => mcpHandlers([], wrong), ["execute", "context"]],
  ])("%s", (_, make, names) => {
    for (const name of names) {
      expect(() => make({ [name]: true })).toThrow(new TypeError(`${name} is a function, got a boolean.`));
      expect(() => make({ [name]: undefined })).not.toThrow();
    }
  });

  it("mcpTools()", async () => {
    for (const name of ["effect", "policy", "filter", "reconnect", "result", "onInputRequired"]) {
      const refused = mcpTools({} as never, { [name]: "read" });
      await expect(refused).rejects.toThrow(new TypeError(`${name} is a function, got a string.`));
    }
  });
});

it.each(readers.map(({ adapter }) => [adapter.name, adapter] as const))(
  "%s is given tools among its options: else nothing would be validated",
  (_, adapter) => {
    const tools = [] as never;
    expect(() => adapter.read(new Response(""), tools)).toThrow(/tools among its options/);
    expect(() => adapter.parse({}, tools)).toThrow(/tools among its options/);
  },
);

it.each(readers.map(({ adapter }) => [adapter.name, adapter] as const))(
  "%s refuses what is spelt like one of its options",
  (_, adapter) => {
    for (const [wrong, meant] of Object.entries({ tool: "tools", limit: "limits", abortSignal: "signal" })) {
      const words = `${adapter.name}.read() or parse() has no option "${wrong}". Did you mean ${meant}?`;
      expect(() => adapter.read(new Response(""), { [wrong]: [] })).toThrow(words);
      expect(() => adapter.parse({}, { [wrong]: [] })).toThrow(words);
    }
    for (const [wrong, meant] of Object.entries({ strickt: "strict", onloss: "onLoss" })) {
      const words = `${adapter.name}.tools() has no option "${wrong}". Did you mean ${meant}?`;
      expect(() => adapter.tools([], { [wrong]: true })).toThrow(words);
    }
  },
);

describe("a model refuses what is spelt like one of its options", () => {
  const all = { strict: true, onLoss: "ignore", limits: {}, repair: "off", parallel: false } as const;
  it.each<[string, (options: object) => unknown, own?: object]>([
    [
      "openaiChat",
      (options) => openaiChat.model(new OpenAI({ apiKey: "none" }), { model: "m" }, options),
      { instructionsRole: "developer", alternatingRoles: true },
    ],
    ["openaiResponses", (options) => openaiResponses.model(new OpenAI({ apiKey: "none" }), { model: "m" }, options)],
    [
      "anthropic",
      (options) => anthropic.model(new Anthropic({ apiKey: "none" }), { model: "m", max_tokens: 1 }, options),
    ],
    ["google", (options) => google.model(new GoogleGenAI({ apiKey: "none" }), { model: "m" }, options)],
    [
      "googleInteractions",
      (options) => googleInteractions.model(new GoogleGenAI({ apiKey: "none" }), { model: "m" }, options),
    ],
    ["cohere", (options) => cohere.model(new CohereClientV2({ token: "none" }), { model: "m" }, options)],
  ])("%s", (name, make, own = {}) => {
    for (const option of Object.keys({ ...all, ...own })) {
      const wrong = option.toLowerCase().slice(0, -1);
      expect(() => make({ [wrong]: true })).toThrow(
        `${name}.model() has no option "${wrong}". Did you mean ${option}?`,
      );
    }
    expect(make({ ...all, ...own, ofAnAdapterThatWrapsIt: true, stream: true })).toMatchObject({
      adapter: { tools: expect.any(Function) },
    });
  });
});

it("cohere.request() refuses what is spelt like choice: else all tools would be offered", () => {
  expect(() => cohere.request([], { choise: "none" } as object)).toThrow("Did you mean choice?");
});

it("google.tools() refuses what is spelt like dialect", () => {
  expect(() => google.tools([], { dialekt: "schema" } as object)).toThrow("Did you mean dialect?");
});

it("tools by name, as other libraries take them, are refused with what to pass instead", () => {
  const byName = { ask: defineTool({ name: "ask", inputSchema: jsonSchema({ type: "object" }) }) } as never;
  for (const { adapter } of readers)
    expect(() => adapter.tools(byName)).toThrow(/Object\.values\(tools\), .*got an object/);
});

it.each(readers.map(({ adapter }) => [adapter.name, adapter] as const))(
  "%s takes an option that is undefined for one that is not given",
  (_, adapter) => {
    const tools = [defineTool({ name: "ask", inputSchema: jsonSchema({ type: "object", minProperties: 1 }) })];
    const warn = vi.spyOn(console, "warn").mockReturnValue();
    expect(adapter.tools(tools, { strict: undefined, onLoss: undefined })).toEqual(adapter.tools(tools));
    warn.mockRestore();
    expect(adapter.toolChoice("required", { parallel: undefined })).toEqual(adapter.toolChoice("required"));
  },
);

const wires = [anthropic, cohere, google, googleInteractions, openaiChat, openaiResponses];

it.each(wires.map((adapter) => [adapter.name, adapter] as const))(
  "%s refuses a turn that another one has read: of its text, thinking and calls it would send too little or too much",
  async (name, adapter) => {
    for (const other of wires) {
      const turn = await other.read(new Response("")).done();
      if (other.name === name) expect(adapter.assistantMessage(turn)).toEqual([]);
      else expect(() => adapter.assistantMessage(turn)).toThrow(`got one of ${other.name}. What one provider said`);
    }
  },
);

describe.each(readers.map(({ adapter }) => adapter))("the results of $name", (adapter) => {
  it.each([[undefined], ["call_1"], [{ id: "call_1" }]])("are of a use, and not of %j", (given) => {
    expect(() => adapter.toolResult(given as never, "22")).toThrow(/toolResult\(\) takes the use of a call/);
  });

  it.each([["Promise"], ["Map"], ["Response"], ["Buffer"]])("hold no %s, for which JSON has no form", (name) => {
    const outputs: Record<string, object> = {
      Promise: Promise.resolve(22),
      Map: new Map(),
      Response: new Response(),
      Buffer: Buffer.from("hi"),
    };
    const use = defineTool({ name: "ask", inputSchema: jsonSchema({ type: "object" }) }).use({});
    const message = `the output holds an instance of ${name}, for which JSON has no form`;
    expect(() => adapter.toolResult(use, outputs[name])).toThrow(new TypeError(message));
  });

  it.each([[undefined], ["boom"], [new Error("boom")], [new ToolError("execution_failed", "boom")]])(
    "are of a call's error, and not of %j",
    (given) => {
      expect(() => adapter.toolError(given as never)).toThrow(/toolError\(\) takes a ToolCallError/);
    },
  );
});
