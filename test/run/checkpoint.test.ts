/** What is stored of runs: written by older versions, by newer ones, by nobody who should have. */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { isToolError } from "../../src/errors.ts";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { Orchestrator, type OrchestratorOptions } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import type { Store } from "../../src/store/store.ts";
import { replayModel } from "../../src/testing/index.ts";
import { conversationId, frozenTools } from "./corpus.ts";
import { counted, external, scripted, short } from "./script.ts";

const frozen = globSync(join(import.meta.dirname, "../../fixtures/run/checkpoint-v*/*.json")).toSorted();

interface Entry {
  readonly key: string;
  value: any;
}

function entriesOf(file: string): Entry[] {
  return JSON.parse(readFileSync(file, "utf8")) as Entry[];
}

async function storeOf(entries: readonly Entry[]): Promise<Store> {
  const store = memoryStore();
  for (const { key, value } of entries) await store.put(key, value);
  return store;
}

function orchestratorOf(store: Store, more: Partial<OrchestratorOptions> = {}) {
  const approvals = new ApprovalService({ store });
  const { tools, written } = frozenTools();
  const model = scripted({ text: "Done." });
  return { written, model, orchestrator: new Orchestrator({ model, tools, store, approvals, ...more }) };
}

describe("frozen checkpoints", () => {
  const statuses: Record<string, string> = {
    paused: "awaiting_tool_results",
    answered: "awaiting_tool_results",
    completed: "completed",
    limit: "error",
    died: "error",
  };

  it("are there", () => {
    expect(frozen.length).toBeGreaterThanOrEqual(Object.keys(statuses).length);
  });

  it.each(frozen.map((file) => [file.slice(file.indexOf("checkpoint-v")), file]))(
    "%s is read, and goes on",
    async (_, file) => {
      const name = basename(file, ".json");
      const store = await storeOf(entriesOf(file));
      const { orchestrator, model, written } = orchestratorOf(store);
      const before = (await orchestrator.get(conversationId))!;
      if (name !== "answered") expect(before.status).toBe(statuses[name]);
      expect(before.tree.toText()).toContain(before.runId);
      if (name === "completed") {
        await expect(orchestrator.resume(conversationId)).rejects.toMatchObject({ code: "not_waiting" });
        await orchestrator.run({ conversationId, input: "More" });
        return;
      }
      const end = await orchestrator.resume(conversationId, {
        toolResults: before.pendingToolCalls.map(({ id }) => ({ toolCallId: id, result: { two: 2 } })),
        approvals: before.pendingApprovals.map(({ id }) => ({ id, decision: "deny" as const })),
      });
      expect(end).toMatchObject({ status: "completed", content: "Done." });
      expect(written).toEqual([]);
      const said = short(end.messages);
      if (name === "paused" || name === "answered") {
        expect(said.slice(1)).toEqual([
          "call(read,ask,write,wipe,unheard)",
          'result({"ran":"read","n":1})',
          'result({"two":2})',
          'result({"ran":"write","n":3})',
          expect.stringContaining("denied"),
          expect.stringContaining("unheard"),
          "say(Done.)",
        ]);
      } else expect(said).toContain('result({"ran":"write","n":3})');
      if (name === "paused") expect(model.requests[0]!.instructions).toBe("Be brief.");
    },
  );
});

describe("what is stored can be read again", () => {
  it("where the clock was set back while the model spoke, and while a tool ran", async () => {
    const setBack = () => vi.setSystemTime(Date.now() - 3_600_000);
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      const slow = counted("slow", { execute: setBack });
      const model = scripted({ calls: [{ name: "slow" }] }, () => {
        setBack();
        return { text: "Done." };
      });
      const orchestrator = new Orchestrator({ model, tools: [slow.tool], store: memoryStore() });
      const result = await orchestrator.run({ conversationId, input: "Go" });
      expect(result.metadata.activeMs).toBeGreaterThanOrEqual(0);
      expect(result.tree.runs[0]!.durationMs).toBeGreaterThanOrEqual(0);
      expect(await orchestrator.get(conversationId)).toMatchObject({ status: "completed", content: "Done." });
    } finally {
      vi.useRealTimers();
    }
  });

  it.each([
    { prompt_tokens: -5, completion_tokens: 1, total_tokens: -4 },
    { prompt_tokens: NaN, completion_tokens: Infinity },
  ])("where the server counts %j", async (usage) => {
    const chunk = { choices: [{ index: 0, delta: { content: "Done." }, finish_reason: "stop" }], usage };
    const turn = new ReadableStream({ start: (end) => (end.enqueue(chunk), end.close()) });
    const model = replayModel(openaiChat, [turn]);
    const orchestrator = new Orchestrator({ model, store: memoryStore() });
    await orchestrator.run({ conversationId, input: "Go" });
    const { metadata, content } = (await orchestrator.get(conversationId))!;
    expect([content, metadata.tokens]).toEqual(["Done.", 0]);
  });

  it("where the server counts so much that the sum is no number", async () => {
    const usage = { prompt_tokens: 1e308, completion_tokens: 1e308, total_tokens: 1e308 };
    const turnOf = (delta: object, finish_reason: string) => {
      const chunk = { choices: [{ index: 0, delta, finish_reason }], usage };
      return new ReadableStream({ start: (end) => (end.enqueue(chunk), end.close()) });
    };
    const call = { index: 0, id: "call_1", type: "function", function: { name: "write", arguments: "{}" } };
    const turns = [turnOf({ tool_calls: [call] }, "tool_calls"), turnOf({ content: "Done." }, "stop")];
    const model = replayModel(openaiChat, turns);
    const orchestrator = new Orchestrator({ model, tools: [counted("write").tool], store: memoryStore() });
    await orchestrator.run({ conversationId, input: "Go" });
    expect(await orchestrator.get(conversationId)).toMatchObject({ status: "completed", content: "Done." });
  });
});

it("the record of a call that cannot be read ends no run: the model hears that nobody knows what came of it", async () => {
  const store = memoryStore();
  const write = counted("write");
  const model = scripted({ calls: [{ name: "write" }, { name: "ask" }] }, { text: "Done." });
  const orchestrator = new Orchestrator({ model, tools: [write.tool, external("ask")], store });
  const { pendingToolCalls } = await orchestrator.run({ conversationId, input: "Go" });
  const [record] = await store.list("action/");
  await store.put(record!.key, { version: 2 });
  const { status, messages } = await orchestrator.resume(conversationId, {
    toolResults: pendingToolCalls.map(({ id }) => ({ toolCallId: id, result: 1 })),
  });
  expect(status).toBe("completed");
  expect(short(messages)[2]).toMatch(/written by a newer version.*not known what came of it/);
  expect(write.inputs).toHaveLength(1);
});

describe("a checkpoint that is not ours to read", () => {
  const file = frozen.find((one) => one.endsWith("paused.json"))!;
  const headOf = (entries: Entry[]) => entries.find(({ key }) => key.startsWith("run/"))!.value;

  async function codeFor(change: (entries: Entry[]) => Entry[] | void): Promise<string> {
    const entries = entriesOf(file);
    const changed = change(entries) ?? entries;
    const { orchestrator, written } = orchestratorOf(await storeOf(changed));
    const error: unknown = await orchestrator.resume(conversationId).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(written).toEqual([]);
    if (error === undefined) return "resumed";
    return isToolError(error) ? error.code : String(error);
  }

  it("of a newer version is refused, with what to do", async () => {
    const entries = entriesOf(file);
    headOf(entries).version = 2;
    const { orchestrator } = orchestratorOf(await storeOf(entries));
    await expect(orchestrator.resume(conversationId)).rejects.toMatchObject({ code: "checkpoint_newer" });
    await expect(orchestrator.resume(conversationId)).rejects.toThrow(/format 2, this one reads up to 1.*Update/);
    expect(await orchestrator.list()).toEqual([]);
  });

  const damages: Record<string, (head: any, entries: Entry[]) => unknown> = {
    "an unknown status": (head) => (head.status = "approved"),
    "no version": (head) => delete head.version,
    "an old version that never was": (head) => (head.version = 0),
    "another conversation's": (head) => (head.conversationId = "other"),
    "a run id that reaches elsewhere": (head) => (head.runId = "../run"),
    "more rows than there are": (head) => (head.rows = 9),
    "rows that are no number": (head) => (head.rows = "2"),
    "a lease of nobody": (head) => (head.lease = { until: 5 }),
    "usage that is text": (head) => (head.used.steps = "1"),
    "lost usage that is text": (head) => (head.lostUsage = { inputTokens: "1", outputTokens: 1, totalTokens: 2 }),
    "lost usage that is null": (head) => (head.lostUsage = null),
    "pending calls of no form": (head) => (head.pending = ["x"]),
    "an error of no form": (head) => (head.error = "bad"),
    "an error that is not there": (head) => (head.status = "error"),
    "a row of an unknown kind": (_, entries) => (rowsOf(entries)[1]!.value.kind = "results2"),
    "a row without messages": (_, entries) => delete rowsOf(entries)[0]!.value.messages,
    "a call of an unknown mode": (_, entries) => (rowsOf(entries)[1]!.value.calls[0].mode = "approved"),
    "a call without a name": (_, entries) => (rowsOf(entries)[1]!.value.calls[0].name = null),
    "a call whose name is empty": (_, entries) => (rowsOf(entries)[1]!.value.calls[0].name = ""),
    "a call whose metadata is a list": (_, entries) => (rowsOf(entries)[1]!.value.calls[0].metadata = []),
    "a time before all time": (head) => (head.startedAt = -1),
    "results of no calls": (_, entries) =>
      (rowsOf(entries)[1]!.value = { kind: "results", at: 1, messages: [], outcomes: [] }),
    "calls that are no list": (_, entries) => (rowsOf(entries)[1]!.value.calls = {}),
    "calls that share an id": (_, entries) => {
      const { calls } = rowsOf(entries)[1]!.value;
      calls[1].invocationId = calls[0].invocationId;
    },
    "a call with an id of its own choice": (_, entries) => (rowsOf(entries)[1]!.value.calls[0].invocationId = "again"),
    "a turn of another run": (_, entries) => (rowsOf(entries)[1]!.value.turnId = "run_other-1-1-0"),
    "a row out of its place": (_, entries) => {
      const [{ key }, { value }] = rowsOf(entries) as [Entry, Entry];
      entries.splice(
        entries.findIndex((entry) => entry.value === value),
        1,
        { key: key.replace(/0$/, "2"), value },
      );
    },
    "a head that is a list": (_, entries) => (entries.find(({ key }) => key.startsWith("run/"))!.value = []),
  };
  const rowsOf = (entries: Entry[]) => entries.filter(({ key }) => key.startsWith("run-row/"));

  it.each(Object.entries(damages))("is refused: %s", async (_, damage) => {
    expect(
      await codeFor((entries) => {
        damage(headOf(entries), entries);
        return entries;
      }),
    ).toBe("invalid_checkpoint");
  });

  it("cannot skip an approval", async () => {
    const code = await codeFor((entries) => {
      // The step's results are made up, as if all had been executed.
      const rows = rowsOf(entries);
      const outcomes = rows[1]!.value.calls.slice(1).map(({ invocationId }: { invocationId: string }) => ({
        invocationId,
        status: "completed",
        at: 1,
      }));
      entries.push({
        key: rows[1]!.key.replace(/1$/, "2"),
        value: { kind: "results", at: 1, messages: [], outcomes },
      });
      headOf(entries).rows = 3;
    });
    expect(code).toBe("invalid_checkpoint");
  });

  it("whatever is changed in it, nothing else is thrown and no prototype is touched", async () => {
    const hostile = [null, 0, -1, "", "x", [], {}, JSON.parse('{"__proto__":{"polluted":1}}'), 1e9];
    const codes = new Set<string>();
    for (const place of places(headOf(entriesOf(file)))) {
      for (const value of hostile) {
        codes.add(
          await codeFor((entries) => {
            const owner = place.slice(0, -1).reduce((at, step) => at[step], headOf(entries));
            owner[place.at(-1)!] = structuredClone(value);
          }),
        );
      }
    }
    expect(
      Array.from(codes).filter(
        (code) =>
          !/^(resumed|invalid_checkpoint|run_busy|not_waiting|wrong_wire|checkpoint_newer|unknown_run)$/.test(code),
      ),
    ).toEqual([]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("of another provider's form is refused", async () => {
    const store = await storeOf(entriesOf(file));
    const orchestrator = new Orchestrator({ model: replayModel(anthropic, []), tools: [external("ask")], store });
    await expect(orchestrator.resume(conversationId)).rejects.toMatchObject({ code: "wrong_wire" });
    await expect(orchestrator.run({ conversationId, input: "Go" })).rejects.toMatchObject({
      code: "wrong_wire",
      message: expect.stringMatching(/Go on with a model of .*, or begin another conversation/),
    });
  });
});

function places(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [path];
  return [
    ...(path.length > 0 ? [path] : []),
    ...Object.entries(value).flatMap(([key, inner]) => places(inner, [...path, key])),
  ];
}
