import { errorType, jsonEndpoint } from "../../src/endpoint.ts";

/**
 * `POST …/chat/completions`, whatever comes before it: `/v1`, `/openai/deployments/<name>`, `/v1beta/openai`.
 *
 * @see https://platform.openai.com/docs/guides/error-codes
 */
export const endpoint = jsonEndpoint(/\/chat\/completions\/?$/, (status, message) => ({
  error: { message, type: errorType(status, "server_error"), param: null, code: null },
}));
