import { expect, it } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { replayModel } from "../../src/testing/index.ts";

const request = { messages: [], tools: [] };

it.each([
  ["a path", "fixtures/anthropic/parallel", '"fixtures/anthropic/parallel"; loadRecording(path) reads a file'],
  ["nothing", undefined, "got undefined"],
  ["a recording that nobody waited for", Promise.resolve(new Uint8Array()), "got a promise, which must be awaited"],
  ["an object", {}, "got another object"],
])("refuses %s for an answer", (_, answer, words) => {
  const open = () => replayModel(anthropic, [() => answer as never]).open(request);
  expect(open).toThrow(TypeError);
  expect(open).toThrow(words);
});

it("says that there is no answer left", () => {
  expect(() => replayModel(anthropic, []).open(request)).toThrow("was asked for turn 1 and has 0");
});

it("fails as a request does that was refused, if its answer throws what the SDK would", async () => {
  async function* refused() {
    yield { type: "ping" };
    throw Object.assign(new Error("Overloaded"), { status: 529 });
  }
  const model = replayModel(anthropic, [refused(), new Response()]);
  expect((await model.open(request).done()).error).toMatchObject({ code: "provider_error", message: "Overloaded" });
  expect(model.requests).toHaveLength(1);
});

it("fails as a request does that was refused, if its answer is a Response that says so, and tells of its headers", async () => {
  const body = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}';
  const refused = new Response(body, { status: 529, headers: { "retry-after": "7" } });
  const model = replayModel(anthropic, [refused, new Response("", { headers: { "request-id": "r1" } })]);
  const turn = model.open(request);
  expect((await turn.done()).error).toMatchObject({
    code: "provider_error",
    message: "The provider refused the request with status 529: Overloaded",
  });
  expect(turn.response).toMatchObject({ status: 529, rateLimits: { "retry-after": "7" } });
  const next = model.open(request);
  await next.done();
  expect(next.response).toMatchObject({ status: 200, requestId: "r1" });
});
