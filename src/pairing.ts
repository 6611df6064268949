/** A call as it stands in a history. */
export interface HistoryCall {
  /** The provider's id; `""` where there is none. */
  readonly id: string;
  readonly name: string;
}

/** A result as it stands in a history, as a message of its own. */
export interface HistoryResult<Message> extends HistoryCall {
  readonly message: Message;
}

/** What one message holds of calls and results. */
export interface MessageParts<Message> {
  /** Whether the model wrote it. */
  readonly isModels: boolean;
  readonly calls: readonly HistoryCall[];
  readonly results: readonly HistoryResult<Message>[];
  /** What the message holds beside its results; `undefined`: nothing. */
  readonly rest: Message | undefined;
  /** Something else stands before one of its results. Default false. */
  readonly isMixed?: boolean;
  /** It may stand for calls that are not seen here: results behind it that have no call are kept. Default false. */
  readonly mayHoldCalls?: boolean;
}

/** How a provider's messages hold calls and results. */
export interface PairingRules<Message> {
  parts(message: Message): MessageParts<Message>;
  /** The result of a call that has none. `text` is for the model. */
  missing(call: HistoryCall, text: string): Message;
  /** Results as the provider wants them together. Default: one message after the other. */
  join?(results: readonly Message[]): Message[];
  /** Messages of the model that follow one another are one turn. */
  readonly joinsTurns: boolean;
  /** All results of a turn have to be in one message. */
  readonly inOneMessage?: boolean;
  /** Calls may be at the provider, so that a result without a call may have one. */
  readonly keepsOrphans?: boolean;
}

/** What the model hears of a call of which nothing is known. Nothing is guessed. */
export const OUTCOME_UNKNOWN = "The outcome of this call is unknown: no result of it was recorded.";

interface Entry<Message> extends MessageParts<Message> {
  readonly message: Message;
}

/**
 * The messages, with exactly one result behind every call, in call order and adjacent: providers refuse a whole
 * conversation, for ever, for one call without a result or one result without a call.
 */
export function pairMessages<Message>(messages: readonly Message[], rules: PairingRules<Message>): Message[] {
  const entries = messages.map((message): Entry<Message> => ({ ...rules.parts(message), message }));
  const paired: Message[] = [];
  for (let at = 0; at < entries.length;) {
    const turn: Entry<Message>[] = [];
    while (entries[at]?.isModels === true && (turn.length === 0 || rules.joinsTurns)) turn.push(entries[at++]!);
    const answers: Entry<Message>[] = [];
    while (entries[at]?.isModels === false) answers.push(entries[at++]!);
    for (const { message } of turn) paired.push(message);
    const calls = turn.flatMap((entry) => entry.calls);
    const isFirst = turn.length === 0;
    const keepsOrphans = isFirst ? rules.keepsOrphans === true : turn.some(({ mayHoldCalls }) => mayHoldCalls);
    if (isInOrder(calls, answers, rules) || (keepsOrphans && calls.length === 0)) {
      for (const { message } of answers) paired.push(message);
    } else {
      paired.push(...resultsOf(calls, answers, rules, keepsOrphans));
      for (const { rest } of answers) if (rest !== undefined) paired.push(rest);
    }
  }
  return paired;
}

/** Whether nothing is amiss, so that the messages can go out as they are. */
function isInOrder<Message>(
  calls: readonly HistoryCall[],
  answers: readonly Entry<Message>[],
  rules: PairingRules<Message>,
): boolean {
  const results = answers.flatMap((entry) => entry.results);
  if (results.length !== calls.length || !results.every((result, index) => isResultOf(result, calls[index]!)))
    return false;
  const last = answers.findLastIndex((entry) => entry.results.length > 0);
  if (rules.inOneMessage === true && last > 0) return false;
  return answers.slice(0, last + 1).every((entry, index) => {
    if (entry.results.length === 0 || entry.isMixed === true) return false;
    return index === last || entry.rest === undefined;
  });
}

function resultsOf<Message>(
  calls: readonly HistoryCall[],
  answers: readonly Entry<Message>[],
  rules: PairingRules<Message>,
  keepsOrphans: boolean,
): Message[] {
  const left = answers.flatMap((entry) => entry.results);
  const results = calls.map((call) => {
    const at = left.findIndex((result) => isResultOf(result, call));
    return at === -1 ? rules.missing(call, OUTCOME_UNKNOWN) : left.splice(at, 1)[0]!.message;
  });
  if (keepsOrphans) results.push(...left.map(({ message }) => message));
  return results.length === 0 ? [] : (rules.join?.(results) ?? results);
}

/** Whether a result is that of a call: by id, or by name where one of them has no id. */
export function isResultOf(result: HistoryCall, call: HistoryCall): boolean {
  return result.id !== "" && call.id !== "" ? result.id === call.id : result.name === call.name;
}
