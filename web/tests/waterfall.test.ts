import { describe, expect, it } from 'vitest';
import type { TurnStages } from '../src/report';
import { describeDiscarded, formatDelay, layOut, Waterfall } from '../src/waterfall';

const NOTHING: TurnStages = {
  transcription_delay_s: null,
  end_of_turn_delay_s: null,
  llm_ttft_s: null,
  tts_ttfb_s: null,
  e2e_latency_s: null,
  transcript_at_s: null,
  committed_at_s: null,
  llm_began_at_s: null,
  llm_first_token_at_s: null,
  tts_began_at_s: null,
  tts_first_audio_at_s: null,
  audio_out_at_s: null,
};

describe('layOut', () => {
  it('puts the stages of a typed turn one after another', () => {
    const bars = layOut({ ...NOTHING, llm_ttft_s: 0.2, tts_ttfb_s: 0.1 }, null);
    expect(bars.map(({ key, start, end }) => [key, start, end.toFixed(2)])).toEqual([
      ['model', 0, '0.20'],
      ['voice', 0.2, '0.30'],
    ]);
  });

  it('shows what was done ahead, and the way to the page', () => {
    const bars = layOut(
      {
        ...NOTHING,
        transcript_at_s: 0.09,
        committed_at_s: 0.2,
        llm_began_at_s: -0.05,
        llm_first_token_at_s: 0.01,
        tts_began_at_s: 0.02,
        tts_first_audio_at_s: 0.1,
        audio_out_at_s: 0.21,
      },
      { from: 'speech', seconds: 0.3 },
    );
    expect(bars.map(({ key, start, end }) => [key, start, end])).toEqual([
      ['transcript', 0, 0.09],
      ['end-of-turn', 0, 0.2],
      ['model', -0.05, 0.01],
      ['voice', 0.02, 0.1],
      ['worker', 0, 0.21],
      ['way', 0.21, 0.3],
      ['heard', 0, 0.3],
    ]);
  });

  it('draws no bar that runs backwards when two clocks disagree', () => {
    const bars = layOut({ ...NOTHING, audio_out_at_s: 0.31 }, { from: 'speech', seconds: 0.3 });
    expect(bars.every(({ start, end }) => end >= start)).toBe(true);
  });

  it('adds what this page measured, by what the caller did', () => {
    const speech = layOut(NOTHING, { from: 'speech', seconds: 0.5 });
    const typing = layOut(NOTHING, { from: 'typing', seconds: 0.5 });
    expect(speech.map(({ label }) => label)).toEqual(['Heard in this page']);
    expect(typing.map(({ label }) => label)).toEqual(['Heard after sending']);
  });
});

describe('formatDelay', () => {
  it.each([
    [0, '0 ms'],
    [0.3404, '340 ms'],
    [0.9994, '999 ms'],
    [0.9996, '1.00 s'],
    [1.239, '1.24 s'],
  ])('writes %f as %s', (seconds, text) => {
    expect(formatDelay(seconds)).toBe(text);
  });
});

describe('describeDiscarded', () => {
  it.each([
    [0, ''],
    [1, '1 answer begun ahead and thrown away unheard'],
    [3, '3 answers begun ahead and thrown away unheard'],
  ])('writes %d as "%s"', (count, text) => {
    expect(describeDiscarded(count)).toBe(text);
  });
});

describe('Waterfall', () => {
  const make = (): [Waterfall, HTMLElement, HTMLTableSectionElement, HTMLElement, HTMLElement] => {
    const section = document.createElement('section');
    const body = document.createElement('tbody');
    const headline = document.createElement('p');
    const discarded = document.createElement('p');
    const waterfall = new Waterfall(section, body, headline, discarded);
    return [waterfall, section, body, headline, discarded];
  };
  const report = {
    turn: 2,
    answers: true,
    interrupted: false,
    discarded: 0,
    stages: { ...NOTHING, audio_out_at_s: 0.3 },
  };

  it('heads with what the caller heard, and with nothing less', () => {
    const [waterfall, , , headline] = make();
    waterfall.show(report, { from: 'speech', seconds: 0.45 });
    expect(headline.textContent).toBe('450 ms');
    waterfall.show(report, null);
    expect(headline.textContent).toBe('');
  });

  it('does not take the greeting for an answer', () => {
    const [waterfall, , body] = make();
    waterfall.show({ ...report, answers: false }, null);
    expect(body.childElementCount).toBe(0);
  });

  it('keeps the last turn when a report holds nothing', () => {
    const [waterfall, section, body] = make();
    waterfall.show(report, null);
    waterfall.show({ ...report, turn: 3, stages: NOTHING }, null);
    expect(section.dataset.turn).toBe('2');
    expect(body.childElementCount).toBe(1);
  });

  it('says what was thrown away, and forgets it at the next turn', () => {
    const [waterfall, , , , discarded] = make();
    waterfall.show({ ...report, discarded: 2 }, null);
    expect(discarded.textContent).toContain('2 answers');
    waterfall.show(report, null);
    expect(discarded.textContent).toBe('');
  });

  it('is empty again for the next call', () => {
    const [waterfall, section, body] = make();
    waterfall.show(report, null);
    waterfall.clear();
    expect(section.dataset.empty).toBe('true');
    expect(body.childElementCount).toBe(0);
  });
});
