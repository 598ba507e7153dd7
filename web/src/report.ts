/** The worker's report of a finished turn: text-stream topic `parley.turn`, JSON. */

export const TURN_TOPIC = 'parley.turn';

/** Delays inside one turn, seconds; null where the worker did not measure it. */
export interface TurnStages {
  transcription_delay_s: number | null;
  end_of_turn_delay_s: number | null;
  llm_ttft_s: number | null;
  tts_ttfb_s: number | null;
  e2e_latency_s: number | null;
}

export interface TurnReport {
  /** The caller's turn that this answers, or follows; 0 before their first. */
  turn: number;
  /** False for what the agent says unasked: the greeting, "Are you still there?", a farewell. */
  answers: boolean;
  interrupted: boolean;
  stages: TurnStages;
}

const STAGE_NAMES = [
  'transcription_delay_s',
  'end_of_turn_delay_s',
  'llm_ttft_s',
  'tts_ttfb_s',
  'e2e_latency_s',
] as const satisfies readonly (keyof TurnStages)[];

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
  for (const name of STAGE_NAMES) {
    const delay = value.stages[name];
    stages[name] = typeof delay === 'number' && delay >= 0 ? delay : null;
  }
  return {
    turn: value.turn,
    answers: typeof value.user_text === 'string' && value.user_text !== '',
    interrupted: value.interrupted === true,
    stages: stages as TurnStages,
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
