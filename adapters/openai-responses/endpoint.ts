import { errorType, jsonEndpoint } from "../../src/endpoint.ts";

/**
 * `POST …/responses`, whatever comes before it: `/v1`, `/openai/v1`, `/openai`.
 *
 * @see https://platform.openai.com/docs/guides/error-codes
 */
export const endpoint = jsonEndpoint(/\/responses\/?$/, (status, message) => ({
  error: { message, type: errorType(status, "server_error"), param: null, code: null },
}));
