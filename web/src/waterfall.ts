/** The latency waterfall of the last turn: where the time went between a question and its answer. */

import type { TurnReport, TurnStages } from './report';
import type { Measured } from './turnmeter';

export interface Bar {
  key: string;
  label: string;
  /** Seconds after the caller's last sound; may be below 0 for work done while they spoke. */
  start: number;
  end: number;
}

/**
 * Lay a turn out in time; 0 is the end of the caller's speech.
 *
 * The worker reports how long each stage took, not when it began. The voice's first sound ends the
 * turn and the model's first token comes just before the voice starts, so both are laid from
 * the end backwards. A model that began before the end of the turn was decided (speculation) then
 * shows as an overlap, as it should.
 */
export function layOut(stages: TurnStages, measured: Measured | null): Bar[] {
  const bars: Bar[] = [];
  const add = (key: string, label: string, start: number, length: number | null): void => {
    if (length !== null) bars.push({ key, label, start, end: start + length });
  };
  const { llm_ttft_s: model, tts_ttfb_s: voice } = stages;
  const decided = stages.end_of_turn_delay_s;
  const end = stages.e2e_latency_s ?? (decided ?? 0) + (model ?? 0) + (voice ?? 0);
  const voiceStart = end - (voice ?? 0);

  add('transcript', 'Words recognised', 0, stages.transcription_delay_s);
  add('end-of-turn', 'End of turn decided', 0, decided);
  add('model', 'Model’s first token', voiceStart - (model ?? 0), model);
  add('voice', 'Voice’s first sound', voiceStart, voice);
  if (stages.e2e_latency_s !== null) add('worker', 'Total in the worker', 0, stages.e2e_latency_s);
  if (measured !== null) {
    const label = measured.from === 'speech' ? 'Heard in this page' : 'Heard after sending';
    add('heard', label, 0, measured.seconds);
  }
  return bars;
}

/** "340 ms", or "1.24 s" from one second on. */
export function formatDelay(seconds: number): string {
  const milliseconds = Math.round(seconds * 1000);
  return milliseconds < 1000 ? `${milliseconds} ms` : `${seconds.toFixed(2)} s`;
}

/** Shows the last turn as a table with bars. */
export class Waterfall {
  readonly #section: HTMLElement;
  readonly #body: HTMLTableSectionElement;
  readonly #headline: HTMLElement;

  constructor(section: HTMLElement, body: HTMLTableSectionElement, headline: HTMLElement) {
    this.#section = section;
    this.#body = body;
    this.#headline = headline;
  }

  clear(): void {
    this.#section.dataset.empty = 'true';
    this.#headline.textContent = '';
    this.#body.replaceChildren();
  }

  /** Draw an answer; the greeting, and one with nothing measured, leave the last one standing. */
  show(report: TurnReport, measured: Measured | null): void {
    const bars = layOut(report.stages, measured);
    if (!report.answers || bars.length === 0) return;
    this.#section.dataset.empty = 'false';
    this.#section.dataset.turn = String(report.turn);
    // Only what was heard is called the latency; the worker's own figure is better than that.
    this.#headline.textContent = measured === null ? '' : formatDelay(measured.seconds);
    const from = Math.min(0, ...bars.map((bar) => bar.start));
    const span = Math.max(...bars.map((bar) => bar.end)) - from || 1;
    this.#body.replaceChildren(...bars.map((bar) => row(bar, from, span)));
  }
}

function row(bar: Bar, from: number, span: number): HTMLTableRowElement {
  const line = document.createElement('tr');
  line.dataset.stage = bar.key;
  const name = document.createElement('th');
  name.scope = 'row';
  name.textContent = bar.label;
  const track = document.createElement('td');
  track.className = 'track';
  const fill = document.createElement('span');
  fill.className = 'bar';
  fill.style.insetInlineStart = `${((bar.start - from) / span) * 100}%`;
  fill.style.width = `${Math.max(((bar.end - bar.start) / span) * 100, 0.8)}%`;
  track.append(fill);
  const value = document.createElement('td');
  value.className = 'value';
  value.textContent = formatDelay(bar.end - bar.start);
  line.append(name, track, value);
  return line;
}
