/**
 * What Gemini sends, as far as it is read here: only the fields in use, all of them optional.
 * The response types of `@google/genai` and of `@google/generative-ai` are assignable to these.
 *
 * Sources: https://ai.google.dev/api/generate-content and
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference (2026-11), the types of
 * `@google/genai` 3.3.0, and recorded streams of both services. Every response, streamed or whole, has one shape:
 *
 * ```
 * { candidates: [{ content: { role: "model", parts: [...] }, finishReason?, finishMessage? }],
 *   promptFeedback?, usageMetadata?, modelVersion?, responseId? }
 * ```
 */
export interface GoogleResponse {
  readonly candidates?: readonly WireCandidate[] | null | undefined;
  readonly promptFeedback?:
    | { readonly blockReason?: string | undefined; readonly blockReasonMessage?: string | undefined }
    | null
    | undefined;
  readonly usageMetadata?: WireUsage | null | undefined;
  readonly modelVersion?: string | undefined;
  readonly responseId?: string | undefined;
}

/** A failure, as an HTTP body and inside a stream: https://docs.cloud.google.com/apis/design/errors */
export interface GoogleErrorBody {
  readonly error: { readonly code?: number; readonly message?: string; readonly status?: string };
}

/** Input: a chunk or whole response (the same shape), several in an array, an error, or a gateway's `"[DONE]"`. */
export type GoogleEvent = GoogleResponse | GoogleErrorBody | readonly (GoogleResponse | GoogleErrorBody)[] | "[DONE]";

export interface WireCandidate {
  /** Missing means 0. */
  readonly index?: number | string | null | undefined;
  readonly content?:
    | { readonly role?: string | undefined; readonly parts?: readonly WirePart[] | null | undefined }
    | null
    | undefined;
  /** Present in the last chunk, but not only there: tools that the server runs end their own steps with one. */
  readonly finishReason?: string | null | undefined;
  readonly finishMessage?: string | undefined;
  /** What a search found (`googleSearch`, `googleMaps`, `fileSearch`), and which text is based on it. */
  readonly groundingMetadata?: object | null | undefined;
  /** The pages that `urlContext` has read. */
  readonly urlContextMetadata?: object | null | undefined;
}

/** One part is one thing: exactly one of the fields below is set, besides `thought` and `thoughtSignature`. */
export interface WirePart {
  readonly text?: string | undefined;
  /** The text is reasoning. */
  readonly thought?: boolean | undefined;
  /** Opaque; goes back on the same part. https://ai.google.dev/gemini-api/docs/thought-signatures */
  readonly thoughtSignature?: string | undefined;
  readonly functionCall?: WireFunctionCall | undefined;
  /** In an answer: the result of a call that the server ran itself (on the request's MCP servers). */
  readonly functionResponse?:
    | { readonly id?: string | undefined; readonly name?: string | undefined; readonly response?: object | undefined }
    | undefined;
  readonly executableCode?:
    | { readonly id?: string | undefined; readonly language?: string | undefined; readonly code?: string | undefined }
    | undefined;
  readonly codeExecutionResult?:
    | { readonly id?: string | undefined; readonly outcome?: string | undefined; readonly output?: string | undefined }
    | undefined;
  /** Built-in tools that the server runs, shown with `includeServerSideToolInvocations`. */
  readonly toolCall?:
    | { readonly id?: string | undefined; readonly toolType?: string | undefined; readonly args?: object | undefined }
    | undefined;
  readonly toolResponse?:
    | {
        readonly id?: string | undefined;
        readonly toolType?: string | undefined;
        readonly response?: object | undefined;
      }
    | undefined;
}

/**
 * A call comes whole, or, with `streamFunctionCallArguments` (Vertex AI), in parts:
 *
 * ```
 * { name: "f", willContinue: true }
 * { partialArgs: [{ jsonPath: "$.items[0].name", stringValue: "Ap", willContinue: true }], willContinue: true }
 * { partialArgs: [{ jsonPath: "$.items[0].name", stringValue: "ple" }], willContinue: true }
 * {}                                                          the end, which may also be the last part without willContinue
 * ```
 */
export interface WireFunctionCall {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly args?: object | null | undefined;
  readonly partialArgs?: readonly WirePartialArg[] | undefined;
  readonly willContinue?: boolean | undefined;
}

export interface WirePartialArg {
  /** RFC 9535, for example `$.items[0].name`. */
  readonly jsonPath?: string | undefined;
  readonly stringValue?: string | undefined;
  readonly numberValue?: number | undefined;
  readonly boolValue?: boolean | undefined;
  /** `"NULL_VALUE"` in the SDK's types, `null` in protobuf's JSON form. */
  readonly nullValue?: unknown;
  /** More of this string will come. */
  readonly willContinue?: boolean | undefined;
}

export interface WireUsage {
  readonly promptTokenCount?: number | undefined;
  readonly toolUsePromptTokenCount?: number | undefined;
  readonly candidatesTokenCount?: number | undefined;
  readonly thoughtsTokenCount?: number | undefined;
  readonly totalTokenCount?: number | undefined;
  readonly cachedContentTokenCount?: number | undefined;
}

/**
 * What a request takes. `@google/generative-ai` and `@google/genai` both accept these: fields that only the newer one
 * knows (`id`, `thoughtSignature`, `parametersJsonSchema`) pass through the older one unchanged.
 */
export interface GoogleContent {
  role: "user" | "model";
  parts: GooglePart[];
}

export type GooglePart = GoogleTextPart | GoogleFunctionCallPart | GoogleFunctionResponsePart | GoogleOtherPart;

export interface GoogleTextPart {
  text: string;
  thought?: boolean;
  thoughtSignature?: string;
}

export interface GoogleFunctionCallPart {
  functionCall: { id?: string; name: string; args: Record<string, unknown> };
  thoughtSignature?: string;
}

export interface GoogleFunctionResponsePart {
  functionResponse: { id?: string; name: string; response: Record<string, unknown>; parts?: GoogleResultMedia[] };
}

/** The part of a result that is not JSON: an image, a document. Since Gemini 3. */
export interface GoogleResultMedia {
  inlineData?: { mimeType: string; /** Base64. */ data: string; displayName?: string };
  fileData?: { mimeType: string; fileUri: string; displayName?: string };
}

/** A part of another kind, as it came. The SDKs share no type for it, so it is typed as code, which both know. */
export interface GoogleOtherPart {
  // oxlint-disable-next-line typescript/no-explicit-any -- the language is an enum of each SDK's own
  executableCode: any;
  thoughtSignature?: string;
}

export interface GoogleTool {
  functionDeclarations: GoogleFunctionDeclaration[];
}

export interface GoogleFunctionDeclaration {
  name: string;
  description?: string;
  /** JSON Schema. Missing for a function without parameters. */
  parametersJsonSchema?: unknown;
}

/** The same with `dialect: "schema"`. */
export interface GoogleSchemaTool {
  functionDeclarations: GoogleSchemaDeclaration[];
}

export interface GoogleSchemaDeclaration {
  name: string;
  description?: string;
  /** A `Schema`. Each SDK types it with its own enums, which exclude the other's: `any` fits both. */
  parameters?: any;
}

/** The record from which the answer is rebuilt. */
export interface GoogleNative {
  /** As they go back: plain text joined, the rest as it came. Arguments that came in pieces are kept in the turn. */
  readonly parts: WirePart[];
  /** The function calls among them. */
  readonly calls: NativeCall[];
}

/** The wire has no index: calls are numbered in the order in which they begin. */
export interface NativeCall {
  readonly callIndex: number;
  /** Its index in `parts`. */
  readonly position: number;
  /** The server ran it itself: its `functionResponse` is one of the parts. */
  executed: boolean;
}
