/** Servers of every wire as they are met: each knob is something that real ones do, and any of them may come together. */
import { chat } from "./servers/chat.ts";
import { gemini } from "./servers/gemini.ts";
import { interactions } from "./servers/interactions.ts";
import { messages } from "./servers/messages.ts";
import { responses } from "./servers/responses.ts";
import type { Server } from "./servers/support.ts";
import { v2 } from "./servers/v2.ts";

export const servers: readonly Server[] = [chat, responses, messages, gemini, interactions, v2];
