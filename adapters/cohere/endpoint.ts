import type { Endpoint } from "../../src/adapter.ts";

/** `POST /v2/chat`. https://docs.cohere.com/v2/reference/chat */
export const endpoint: Endpoint = {
  streams: "sse",
  match({ method, path, body }) {
    if (method !== "POST" || !/\/v2\/chat\/?$/.test(path)) return undefined;
    return (body as { stream?: unknown } | null | undefined)?.stream === true ? "stream" : "whole";
  },
  errorBody: (_status, message) => ({ message }),
};
