import type { Endpoint } from "../../src/adapter.ts";

/**
 * `/v1beta/models/M:generateContent` and the paths of Vertex AI, which end the same way. Without `alt=sse` the stream
 * is one JSON array; which of the two is served depends on the recording.
 */
const PATH = /\/(?:models|tunedModels|endpoints)\/[^/:]+:(streamGenerateContent|generateContent)$/;

/** https://docs.cloud.google.com/apis/design/errors#error_mapping */
const STATUS: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

export const endpoint: Endpoint = {
  streams: "sse",
  match({ method, path }) {
    if (method !== "POST") return undefined;
    const found = PATH.exec(path);
    if (found === null) return undefined;
    return found[1] === "streamGenerateContent" ? "stream" : "whole";
  },
  errorBody: (status, message) => ({ error: { code: status, message, status: STATUS[status] ?? "UNKNOWN" } }),
};
