import type { Endpoint } from "../../src/adapter.ts";

/** `POST /v1/messages`, with any prefix before it. https://platform.claude.com/docs/en/api/messages */
export const endpoint: Endpoint = {
  streams: "sse",
  match({ method, path, body }) {
    if (method !== "POST" || !/\/v1\/messages\/?$/.test(path)) return undefined;
    return (body as { stream?: unknown } | null | undefined)?.stream === true ? "stream" : "whole";
  },
  errorBody: (status, message) => ({ type: "error", error: { type: errorType(status), message } }),
};

/** https://platform.claude.com/docs/en/api/errors */
function errorType(status: number): string {
  return ERROR_TYPES[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
}

const ERROR_TYPES: Record<number, string> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};
