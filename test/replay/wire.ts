import type { Recording, ReplayCase, Wire } from "../../src/replay/index.ts";

const encoder = new TextEncoder();

/** A made-up wire, small enough to see through. */
export const paper: Wire = {
  name: "paper",
  endpoint: {
    match({ method, path, body }) {
      if (method !== "POST" || path !== "/v1/write") return undefined;
      return (body as { stream?: boolean } | undefined)?.stream === true ? "stream" : "whole";
    },
    errorBody: (status, message) => ({ type: "error", error: { status, message } }),
  },
};

export const streamBody = 'data: {"delta":"Hél"}\n\ndata: {"delta":"lo"}\n\ndata: [DONE]\n\n';
export const wholeBody = '{"text":"Héllo"}';

export function bodyCase(stream: string | undefined, whole?: string): ReplayCase {
  return {
    ...(stream !== undefined && { stream: recording(stream) }),
    ...(whole !== undefined && { whole: recording(whole) }),
  };
}

export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

function recording(text: string): Recording {
  return { bytes: encoder.encode(text), chunks: [], complete: true };
}
