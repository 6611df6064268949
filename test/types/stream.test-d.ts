import type Anthropic from "@anthropic-ai/sdk";
import { z } from "zod";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import { textJson } from "../../adapters/text-json/index.ts";
import { readTurn, type Adapter, type StreamEvent, type Tool, type ToolUse, type TurnStream } from "../../src/index.ts";
import type { Model } from "../../src/model.ts";
import { Orchestrator, type OrchestratorOptions, type RunEvent, type RunStream } from "../../src/run/index.ts";
import type { Store } from "../../src/store/store.ts";
import { ToolRegistry } from "../../src/tool/registry.ts";
import { defineTool } from "../../src/tool/tool.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_Fact extends true>(): void => {};

declare const source: Response;
declare const store: Store;
declare const client: Anthropic;

const getWeather = defineTool({
  name: "getWeather",
  inputSchema: z.object({ city: z.string(), days: z.number().default(1) }),
  execute: async ({ city }) => ({ city, celsius: 21 }),
});
const openFile = defineTool({ name: "openFile", inputSchema: z.object({ path: z.string() }) });
const tools = [getWeather, openFile];

type Weather = { city: string; days: number };
type Use = ToolUse<Weather, Promise<{ city: string; celsius: number }>, "getWeather">;
type Open = ToolUse<{ path: string }, unknown, "openFile">;
type Event = StreamEvent<(typeof tools)[number]>;

/** What the user of a stream writes. */
export async function narrowed(stream: TurnStream<(typeof tools)[number]>): Promise<void> {
  for await (const event of stream) {
    is<Equal<typeof event, Event>>();
    if (event.type !== "tool-use") continue;
    is<Equal<typeof event.use, Use | Open>>();
    is<Equal<typeof event.use.name, "getWeather" | "openFile">>();
    if (event.use.name === "getWeather") {
      is<Equal<typeof event.use.input, Weather>>();
      const { celsius } = await event.use.execute();
      is<Equal<typeof celsius, number>>();
      // @ts-expect-error: of the other tool
      String(event.use.input.path);
    } else {
      is<Equal<typeof event.use.input, { path: string }>>();
      event.use.provideResult("content");
    }
    // @ts-expect-error: no such tool
    if (event.use.name === "getwether") await event.use.execute();
  }
}

/** Of every adapter, from the tools that are given to it; in a literal, too. */
export const streams = {
  anthropic: anthropic.read(source, { tools }),
  cohere: cohere.read(source, { tools }),
  google: google.read(source, { tools }),
  googleInteractions: googleInteractions.read(source, { tools }),
  openaiChat: openaiChat.read(source, { tools }),
  openaiResponses: openaiResponses.read(source, { tools: [getWeather, openFile] }),
  textJson: textJson("hermes").read(source, { tools }),
  byHand: readTurn(anthropic, source, { tools }),
} satisfies Record<string, TurnStream<(typeof tools)[number]>>;
for (const stream of Object.values(streams)) is<Equal<typeof stream, TurnStream<(typeof tools)[number]>>>();

declare const whole: any;
for (const events of [
  anthropic.parse(whole, { tools }),
  cohere.parse(whole, { tools }),
  google.parse(whole, { tools }),
  googleInteractions.parse(whole, { tools }),
  openaiChat.parse(whole, { tools }),
  openaiResponses.parse(whole, { tools }),
  textJson("hermes").parse(whole, { tools }),
]) {
  is<Equal<typeof events, Event[]>>();
}

/** Of a run, from the tools of its orchestrator. */
const orchestrator = new Orchestrator({
  model: anthropic.model(client, { model: "m", max_tokens: 1 }),
  store,
  tools,
  onEvent: (event) => {
    if (event.type === "tool-use" && event.use.name === "openFile") is<Equal<typeof event.use, Open>>();
  },
});
for (const run of [orchestrator.stream({ input: "Hi" }), orchestrator.resumeStream("c1")]) {
  is<Equal<typeof run, RunStream<Anthropic.MessageParam, (typeof tools)[number]>>>();
}
export async function ofARun(): Promise<void> {
  for await (const event of orchestrator.stream({ input: "Hi" })) {
    if (event.type === "tool-use" && event.use.name === "getWeather") is<Equal<typeof event.use, Use>>();
  }
}

/** Where the tools are not known to the compiler, all is as it was. */
type AnyUse = ToolUse<any, any, string>;
is<Equal<ToolUse, AnyUse>>();
is<Equal<StreamEvent, StreamEvent<Tool>>>();
is<Equal<Extract<StreamEvent, { type: "tool-use" }>["use"], ToolUse>>();
is<Equal<ReturnType<typeof defineDynamic>, Tool<any, any, any>>>();
function defineDynamic(name: string) {
  return defineTool({ name, inputSchema: { type: "object" }, execute: (): any => 1 });
}
for (const stream of [
  anthropic.read(source),
  anthropic.read(source, {}),
  anthropic.read(source, { tools: new ToolRegistry(tools) }),
  anthropic.read(source, { tools: tools as readonly Tool[] }),
  anthropic.read(source, { tools: [] as Tool[] }),
]) {
  is<Equal<typeof stream, TurnStream>>();
}
/** A tool of a name that is not known may have any: then the input of the name is not known. */
export async function mixed(dynamic: Tool): Promise<void> {
  for await (const event of anthropic.read(source, { tools: [getWeather, dynamic] })) {
    if (event.type === "tool-use" && event.use.name === "getWeather") is<Equal<typeof event.use.input, any>>();
  }
}

/** What is known goes where nothing is known; an adapter or a model written by hand need not know of it. */
export const plain: [TurnStream, readonly StreamEvent[], RunStream, Orchestrator, Adapter] = [
  streams.anthropic,
  [] as Event[],
  orchestrator.stream({ input: "Hi" }),
  orchestrator,
  anthropic,
];
export const ofThePlain: RunEvent = {} as RunEvent<(typeof tools)[number]>;
export const byHand = {
  adapter: anthropic as Adapter,
  read: (): TurnStream => anthropic.read(source),
};
declare const options: OrchestratorOptions;
is<Equal<typeof untyped, Orchestrator>>();
const untyped = new Orchestrator(options);
export const wrapped: Model = { ...options.model, open: (request) => options.model.open(request) };
