import type { Endpoint } from "./adapter.ts";

/** An endpoint whose requests are a `POST` of JSON with `stream: true`, or without it for a whole response. */
export function jsonEndpoint(path: RegExp, errorBody: Endpoint["errorBody"]): Endpoint {
  return {
    streams: "sse",
    match(request) {
      if (request.method !== "POST" || !path.test(request.path)) return undefined;
      return (request.body as { stream?: unknown } | null | undefined)?.stream === true ? "stream" : "whole";
    },
    errorBody,
  };
}

/** The type of an error, in the words that most providers have for a status. @param server the word for its own errors */
export function errorType(status: number, server: string): string {
  return ERROR_TYPES[status] ?? (status >= 500 ? server : "invalid_request_error");
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
};
