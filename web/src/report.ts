/** The worker's report of a finished turn: text-stream topic `parley.turn`, JSON. */

export const TURN_TOPIC = 'parley.turn';

/** Delays inside one turn, seconds; null where the worker did not measure it. */
const DELAY_NAMES = [
  'transcription_delay_s',
  'end_of_turn_delay_s',
  'llm_ttft_s',
  'tts_ttfb_s',
  'e2e_latency_s',
] as const;

/** Seconds after the caller's last sound, below 0 for work done ahead; null where not measured. */
const MOMENT_NAMES = [
  'transcript_at_s',
  'committed_at_s',
  'llm_began_at_s',
  'llm_first_token_at_s',
  'tts_began_at_s',
  'tts_first_audio_at_s',
  'audio_out_at_s',
] as const;

export type TurnStages = Record<
  (typeof DELAY_NAMES)[number] | (typeof MOMENT_NAMES)[number],
  number | null
>;

export interface TurnReport {
  /** The caller's turn that this answers, or follows; 0 before their first. */
  turn: number;
  /** False for what the agent says unasked: the greeting, "Are you still there?", a farewell. */
  answers: boolean;
  interrupted: boolean;
  /** Answers that were begun ahead and thrown away unheard. */
  discarded: number;
  stages: TurnStages;
}

/** Read a report; null when it is not one (a newer worker, or noise). */
export function parseReport(json: string): TurnReport | null {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return null;
  }
  if (!isRecord(value) || typeof value.turn !== 'number' || !isRecord(value.stages)) return null;
  const stages: Partial<TurnStages> = {};
  for (const name of DELAY_NAMES) {
    const delay = value.stages[name];
    stages[name] = typeof delay === 'number' && delay >= 0 ? delay : null;
  }
  for (const name of MOMENT_NAMES) {
    const moment = value.stages[name];
    stages[name] = typeof moment === 'number' ? moment : null;
  }
  const speculation = isRecord(value.speculation) ? value.speculation.discarded : 0;
  return {
    turn: value.turn,
    answers: typeof value.user_text === 'string' && value.user_text !== '',
    interrupted: value.interrupted === true,
    discarded: typeof speculation === 'number' ? speculation : 0,
    stages: stages as TurnStages,
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
