import type { Endpoint } from "../../src/adapter.ts";

/** `POST …/responses`, whatever comes before it: `/v1`, `/openai/v1`, `/openai`. */
export const endpoint: Endpoint = {
  streams: "sse",
  match({ method, path, body }) {
    if (method !== "POST" || !/\/responses\/?$/.test(path)) return undefined;
    return (body as { stream?: unknown } | null | undefined)?.stream === true ? "stream" : "whole";
  },
  errorBody(status, message) {
    return { error: { message, type: ERROR_TYPES[status] ?? defaultType(status), param: null, code: null } };
  },
};

/** @see https://platform.openai.com/docs/guides/error-codes */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
};

function defaultType(status: number): string {
  return status >= 500 ? "server_error" : "invalid_request_error";
}
