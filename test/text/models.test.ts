/** The table of docs/text-calls.md: what each family writes is read by the notation that it names, and found without it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { rescueTextCalls, textJson, type NotationName } from "../../adapters/text-json/index.ts";
import { ToolUse } from "../../src/index.ts";
import type { TextAdapter } from "../../src/text/adapter.ts";
import { plainText } from "../../src/text/plain.ts";
import { sharedTools } from "../fixtures.ts";
import { readText } from "./support.ts";

const args = '{"city": "Oslo"}';
const json = `{"name": "get_weather", "arguments": ${args}}`;
const xml = "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>";
const deepseek = (call: string) =>
  `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>${call}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`;
const plamo = (input: string) =>
  `<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>get_weather<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|>${input}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>`;
const hunyuan = (head: string) =>
  `<tool_calls>\n<tool_call>${head}<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>\n</tool_calls>`;
const kimi3 =
  '<|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|><|close|>call<|sep|>';
const dsml = "｜DSML｜";

/** By the first cell of the table. */
const written: Readonly<Record<string, readonly string[]>> = {
  "Hermes, Qwen2.5, Qwen3, Granite 4, ERNIE 4.5": [
    `<tool_call>\n${json}\n</tool_call>`,
    `\n\n\n<tool_call>\n${json}\n</tool_call>\n`,
  ],
  "Qwen2.5-Coder": [
    json,
    JSON.stringify(JSON.parse(json), null, 2),
    `\`\`\`json\n${json}\n\`\`\``,
    `<tools>\n${json}\n</tools>`,
  ],
  xLAM: [`[${json}]`],
  "Granite 3, Phi-4-mini": [`<|tool_call|>[${json}]`, `<|tool_call|>[${json}]<|/tool_call|>`, `functools[${json}]`],
  "Hunyuan A13B, Jamba": [`<tool_calls>[${json}]</tool_calls>`, `<tool_calls>[\n  ${json}\n]</tool_calls>`],
  "Nemotron Nano 2": [`<TOOLCALL>[${json}]</TOOLCALL>`],
  "LongCat-Flash": [`<longcat_tool_call>${json}</longcat_tool_call>`],
  "Command R7B, Command A": [
    `<|START_ACTION|>[\n{"tool_call_id": "0", "tool_name": "get_weather", "parameters": ${args}}\n]<|END_ACTION|>`,
  ],
  "InternLM2, Intern-S1": [
    `<|action_start|><|plugin|>\n${json.replace("arguments", "parameters")}<|action_end|>`,
    `<|action_start|> <|plugin|>\n${json.replace("arguments", "parameters")}<|action_end|>`,
  ],
  Apertus: [`<|tools_prefix|>[{"get_weather": ${args}}]<|tools_suffix|>`],
  Inkling: [`<|content_invoke_tool_json|>${json.replace("arguments", "args")}<|end_message|>`],
  "GigaChat 3": [
    `<|function_call|>${json}`,
    `<|function_call|>${json}</s>`,
    `<|message_sep|>\n\nfunction call<|role_sep|>\n${json}`,
  ],
  "Qwen3-Coder, Qwen3.5, Nemotron 3, MiMo, Step 3.5": [
    `<tool_call>\n${xml}\n</tool_call>`,
    `<tool_call>\n${xml.replaceAll("\nOslo\n", "Oslo")}\n</tool_call>`,
  ],
  "Seed-OSS": [`<seed:tool_call>\n${xml}\n</seed:tool_call>`],
  "GLM 4.5 and on, Ling 3, Laguna, HyperCLOVA X, Spark 2.5": [
    "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
    "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>",
  ],
  "Hunyuan 3 and 4": [
    hunyuan("get_weather<tool_sep>\n"),
    hunyuan("get_weather<tool_sep>\n").replaceAll(/(?<=<[/a-z_]+)>/g, ":opensource>"),
    hunyuan("get_weather")
      .replaceAll("\n", "")
      .replaceAll(/(?<=<[/a-z_]+)>/g, ":6124c78e>"),
  ],
  "Solar Open 2": [
    "<|tool_call:start|>get_weather\n<|tool_arg:start|>city<|tool_arg:value|>Oslo<|tool_arg:end|>\n<|tool_call:end|>",
  ],
  "IQuest Q1": ["<iquest_tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></iquest_tool_call>"],
  "K2 Horizon": [
    "<ifm|tool_calls>\n<ifm|tool_call>get_weather\n<ifm|arg_key>city</ifm|arg_key>\n<ifm|arg_value>Oslo</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>",
    "<ifm|tool_call>get_weather<ifm|arg_key>city</ifm|arg_key><ifm|arg_value>Oslo</ifm|arg_value></ifm|tool_call>",
  ],
  "Llama 3.1, 3.2, 3.3": [
    json.replace("arguments", "parameters"),
    `${json.replace("arguments", "parameters")}<|eot_id|>`,
    `{"type": "function", "name": "get_weather", "parameters": ${args}}`,
    `<|python_tag|>${json.replace("arguments", "parameters")}<|eom_id|>`,
    `<function=get_weather>${args}</function>`,
  ],
  "Mistral, Devstral, Magistral": [`[TOOL_CALLS][${json}]`, `[TOOL_CALLS]get_weather[ARGS]${args}`],
  "Kimi K2": [
    `<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>${args}<|tool_call_end|><|tool_calls_section_end|>`,
  ],
  "Kimi K3": [
    `<|open|>tools<|sep|>${kimi3}<|close|>tools<|sep|>`,
    `<|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|>${kimi3}<|close|>tools<|sep|><|close|>message<|sep|>`,
  ],
  "DeepSeek V3, R1, V3.1": [
    deepseek(`get_weather<｜tool▁sep｜>${args}`),
    deepseek(`function<｜tool▁sep｜>get_weather\n\`\`\`json\n${args}\n\`\`\``),
  ],
  "PLaMo 3": [
    plamo(args),
    plamo(`<|plamo:msg|>${args}`),
    `<|plamo:begin_tool_requests:plamo|>${plamo(`<|plamo:constrain|>json<|plamo:msg|>${args}`)}<|plamo:end_tool_requests:plamo|>`,
  ],
  "DeepSeek V3.2 and on": [
    `<${dsml}function_calls>\n<${dsml}invoke name="get_weather">\n<${dsml}parameter name="city" string="true">Oslo</${dsml}parameter>\n</${dsml}invoke>\n</${dsml}function_calls>`,
  ],
  "GigaChat 3.5": [
    `<｜GCML｜tool_calls>\n<｜GCML｜invoke name="get_weather">\n<｜GCML｜parameter name="city" string="true">Oslo</｜GCML｜parameter>\n</｜GCML｜invoke>\n</｜GCML｜tool_calls>`,
  ],
  "Muse Glimmer": [
    '<|start|>assistant to=get_weather<|message|><atem:function_calls>\n<atem:invoke name="get_weather">\n<atem:parameter name="city">Oslo</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|>',
    '<atem:function_calls>\n<atem:invoke name="get_weather">\n<atem:parameter name="city">Oslo</atem:parameter>\n</atem:invoke>\n</atem:function_calls>',
  ],
  "MiniMax M2, Claude, dots": [
    '<dots_function_call>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n</invoke>\n</dots_function_call>',
    '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n</invoke>\n</minimax:tool_call>',
    '<function_calls>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n</invoke>\n</function_calls>',
  ],
  "MiniMax M3": [
    ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Oslo]<]minimax[>[</city>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>',
  ],
  MiniCPM5: [
    '<function name="get_weather"><param name="city">Oslo</param></function>',
    '<function name="get_weather"><param name="city"><![CDATA[Oslo]]></param></function>',
  ],
  "gpt-oss": [
    `<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>${args}<|call|>`,
    `<|start|>assistant<|channel|>commentary to=functions.get_weather<|message|>${args}`,
  ],
  "Gemma 4": [
    '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>',
    '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|><|tool_response>',
  ],
  FunctionGemma: [
    "<start_function_call>call:get_weather{city:<escape>Oslo<escape>}<end_function_call>",
    "<start_function_call>call:get_weather{city:<escape>Oslo<escape>}<end_function_call><start_function_response>",
  ],
  "LFM2, LFM2.5": ['<|tool_call_start|>[get_weather(city="Oslo")]<|tool_call_end|>'],
  "Olmo 3": [
    '<function_calls>get_weather(city="Oslo")</function_calls>',
    '<function_calls>\nget_weather(city="Oslo")\n</function_calls>',
  ],
  "Llama 4, Llama 3.2": [
    '[get_weather(city="Oslo")]',
    "[get_weather(city='Oslo')]<|eot|>",
    '<|python_start|>[get_weather(city="Oslo")]<|python_end|>',
  ],
};

const page = readFileSync(join(import.meta.dirname, "../../docs/text-calls.md"), "utf8");
const [, section = ""] = page.split("## Which model writes what\n");
const rows = section
  .slice(0, section.indexOf("\n## "))
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .slice(2)
  .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
  .map(([, models, , notation]) => [models!, notation!.replaceAll("`", "") as NotationName] as const);

const everything = rescueTextCalls(plainText) as TextAdapter;

describe("what the page says of models", () => {
  it("has a row for each that is read here", () => {
    expect(rows.map(([models]) => models)).toEqual(Object.keys(written));
  });

  it.each(rows)("is true of %s: %s", async (models, notation) => {
    for (const text of written[models]!) {
      for (const adapter of [textJson(notation), everything]) {
        const { turn } = await readText(adapter, text.split(""), sharedTools);
        const read = turn.calls.map(({ outcome }) => (outcome instanceof ToolUse ? outcome.input : outcome?.message));
        expect(read).toEqual([{ city: "Oslo" }]);
        expect(turn.calls.map(({ released }) => released)).toEqual([true]);
        // The frames of a message are another notation's.
        expect(turn.text.replaceAll(/<\|start\|>.*?<\|message\|>|<\|eom\|>/g, "").trim()).toBe("");
      }
    }
  });
});
