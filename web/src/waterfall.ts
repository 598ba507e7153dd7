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
 * Work that was done ahead, while the caller still spoke, is left of 0 and overlaps the decision
 * that the turn is over. What lies between the worker's first frame and the first sound in this
 * page is the way here.
 */
export function layOut(stages: TurnStages, measured: Measured | null): Bar[] {
  const bars: Bar[] = [];
  const add = (key: string, label: string, start: number | null, end: number | null): void => {
    if (start !== null && end !== null) bars.push({ key, label, start, end: Math.max(start, end) });
  };
  const out = stages.audio_out_at_s;
  const { llm_began_at_s: modelBegan, tts_began_at_s: voiceBegan } = stages;
  // The worker knows no moments after a typed message: its stages follow one another.
  const modelStart = modelBegan ?? stages.committed_at_s ?? 0;
  const modelEnd = stages.llm_first_token_at_s ?? sum(modelStart, stages.llm_ttft_s);
  const voiceStart = voiceBegan ?? modelEnd ?? modelStart;
  const voiceEnd = stages.tts_first_audio_at_s ?? sum(voiceStart, stages.tts_ttfb_s);

  add('transcript', 'Words recognised', 0, stages.transcript_at_s);
  add('end-of-turn', 'End of turn decided', 0, stages.committed_at_s);
  add('model', 'Model’s first token', modelStart, modelEnd);
  add('voice', 'Voice’s first sound', voiceStart, voiceEnd);
  add('worker', 'Total in the worker', 0, out);
  if (measured !== null) {
    const spoken = measured.from === 'speech';
    // a typed message has no last sound from which the worker could count
    if (spoken) add('way', 'Way to this page', out, measured.seconds);
    add('heard', spoken ? 'Heard in this page' : 'Heard after sending', 0, measured.seconds);
  }
  return bars;
}

function sum(start: number, length: number | null): number | null {
  return length === null ? null : start + length;
}

/** "340 ms", or "1.24 s" from one second on. */
export function formatDelay(seconds: number): string {
  const milliseconds = Math.round(seconds * 1000);
  return milliseconds < 1000 ? `${milliseconds} ms` : `${seconds.toFixed(2)} s`;
}

/** What was begun ahead and thrown away; empty when nothing was. */
export function describeDiscarded(count: number): string {
  if (count === 0) return '';
  const answers = count === 1 ? 'answer' : 'answers';
  return `${count} ${answers} begun ahead and thrown away unheard`;
}

/** Shows the last turn as a table with bars. */
export class Waterfall {
  readonly #section: HTMLElement;
  readonly #body: HTMLTableSectionElement;
  readonly #headline: HTMLElement;
  readonly #discarded: HTMLElement;

  constructor(
    section: HTMLElement,
    body: HTMLTableSectionElement,
    headline: HTMLElement,
    discarded: HTMLElement,
  ) {
    this.#section = section;
    this.#body = body;
    this.#headline = headline;
    this.#discarded = discarded;
  }

  clear(): void {
    this.#section.dataset.empty = 'true';
    this.#headline.textContent = '';
    this.#discarded.textContent = '';
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
    this.#discarded.textContent = describeDiscarded(report.discarded);
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
