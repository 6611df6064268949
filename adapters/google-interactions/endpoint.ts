import { jsonEndpoint } from "../../src/endpoint.ts";

/** `POST /v1beta/interactions`, or `/v1/interactions`, whatever comes before it. */
export const endpoint = jsonEndpoint(/\/interactions\/?$/, (status, message) => ({
  error: { code: CODES[status] ?? (status >= 500 ? "internal" : "invalid_request"), message },
}));

/** The words of the API's errors: https://ai.google.dev/gemini-api/docs/interactions/streaming (2026-11) */
const CODES: Readonly<Record<number, string>> = {
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  429: "resource_exhausted",
  503: "unavailable",
  504: "gateway_timeout",
};
