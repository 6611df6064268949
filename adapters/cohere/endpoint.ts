import { jsonEndpoint } from "../../src/endpoint.ts";

/** `POST /v2/chat`. https://docs.cohere.com/v2/reference/chat */
export const endpoint = jsonEndpoint(/\/v2\/chat\/?$/, (_status, message) => ({ message }));
