import { errorType, jsonEndpoint } from "../../src/endpoint.ts";

/** `POST /v1/messages`, with any prefix before it. https://platform.claude.com/docs/en/api/messages */
export const endpoint = jsonEndpoint(/\/v1\/messages\/?$/, (status, message) => ({
  type: "error",
  error: { type: ERROR_TYPES[status] ?? errorType(status, "api_error"), message },
}));

/** https://platform.claude.com/docs/en/api/errors */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  402: "billing_error",
  413: "request_too_large",
  504: "timeout_error",
  529: "overloaded_error",
};
