import { describe, expect, it } from 'vitest';
import type { TurnStages } from '../src/report';
import { formatDelay, layOut, Waterfall } from '../src/waterfall';

const NOTHING: TurnStages = {
  transcription_delay_s: null,
  end_of_turn_delay_s: null,
  llm_ttft_s: null,
  tts_ttfb_s: null,
  e2e_latency_s: null,
};

describe('layOut', () => {
  it('puts stages one after another when the worker gives no total', () => {
    const bars = layOut(
      { ...NOTHING, end_of_turn_delay_s: 0.3, llm_ttft_s: 0.2, tts_ttfb_s: 0.1 },
      null,
    );
    expect(bars.map(({ key, start, end }) => [key, start, end.toFixed(2)])).toEqual([
      ['end-of-turn', 0, '0.30'],
      ['model', expect.closeTo(0.3), '0.50'],
      ['voice', expect.closeTo(0.5), '0.60'],
    ]);
  });

  it('shows a model that began before the turn was over as an overlap', () => {
    const bars = layOut(
      {
        ...NOTHING,
        end_of_turn_delay_s: 0.3,
        llm_ttft_s: 0.25,
        tts_ttfb_s: 0.1,
        e2e_latency_s: 0.4,
      },
      null,
    );
    const model = bars.find(({ key }) => key === 'model');
    expect(model?.start).toBeCloseTo(0.05);
    expect(model?.end).toBeCloseTo(0.3);
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

describe('Waterfall', () => {
  const make = (): [Waterfall, HTMLElement, HTMLTableSectionElement, HTMLElement] => {
    const section = document.createElement('section');
    const body = document.createElement('tbody');
    const headline = document.createElement('p');
    return [new Waterfall(section, body, headline), section, body, headline];
  };
  const report = { turn: 2, answers: true, interrupted: false, stages: { ...NOTHING, e2e_latency_s: 0.3 } };

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
    waterfall.show({ turn: 3, answers: true, interrupted: false, stages: NOTHING }, null);
    expect(section.dataset.turn).toBe('2');
    expect(body.childElementCount).toBe(1);
  });

  it('is empty again for the next call', () => {
    const [waterfall, section, body] = make();
    waterfall.show(report, null);
    waterfall.clear();
    expect(section.dataset.empty).toBe('true');
    expect(body.childElementCount).toBe(0);
  });
});
