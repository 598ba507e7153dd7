import { describe, expect, it } from 'vitest';
import { parseReport } from '../src/report';

describe('parseReport', () => {
  it('reads what the worker sends', () => {
    const report = parseReport(
      JSON.stringify({
        turn: 3,
        user_text: 'hours?',
        agent_text: 'We are open.',
        interrupted: true,
        stages: {
          transcription_delay_s: 0.1,
          end_of_turn_delay_s: 0.2,
          llm_ttft_s: 0.05,
          tts_ttfb_s: null,
          e2e_latency_s: 0.3,
          llm_began_at_s: -0.04,
          committed_at_s: 0.2,
        },
        user_turns: 1,
        speculation: { started: 3, used: 1, discarded: 2 },
      }),
    );
    expect(report).toEqual({
      turn: 3,
      answers: true,
      interrupted: true,
      discarded: 2,
      stages: {
        transcription_delay_s: 0.1,
        end_of_turn_delay_s: 0.2,
        llm_ttft_s: 0.05,
        tts_ttfb_s: null,
        e2e_latency_s: 0.3,
        transcript_at_s: null,
        committed_at_s: 0.2,
        llm_began_at_s: -0.04,
        llm_first_token_at_s: null,
        tts_began_at_s: null,
        tts_first_audio_at_s: null,
        audio_out_at_s: null,
      },
    });
  });

  it.each(['', '{', 'null', '[]', '3', '{"turn":"1","stages":{}}', '{"turn":1}'])(
    'refuses %s',
    (json) => {
      expect(parseReport(json)).toBeNull();
    },
  );

  it('takes a delay that is no number, or negative, as not measured', () => {
    const report = parseReport('{"turn":1,"stages":{"llm_ttft_s":"fast","tts_ttfb_s":-1}}');
    expect(report?.stages.llm_ttft_s).toBeNull();
    expect(report?.stages.tts_ttfb_s).toBeNull();
    expect(report?.interrupted).toBe(false);
  });

  it('tells what is said unasked from an answer', () => {
    const unasked = parseReport('{"turn":1,"user_text":"","stages":{}}');
    expect(unasked?.answers).toBe(false);
  });
});
