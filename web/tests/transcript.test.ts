import { beforeEach, describe, expect, it } from 'vitest';
import { Transcript } from '../src/transcript';
import type { Side } from '../src/transcript';

let list: HTMLOListElement;
let announcer: HTMLDivElement;
let transcript: Transcript;

beforeEach(() => {
  list = document.createElement('ol');
  announcer = document.createElement('div');
  transcript = new Transcript(list, announcer);
});

const say = (id: string, side: Side, text: string, final = false): void =>
  transcript.update({ id, side, text, final });
const words = (): (string | undefined)[] =>
  [...list.querySelectorAll('.words')].map((line) => line.textContent ?? undefined);

describe('Transcript', () => {
  it('replaces the text of a segment until it is final', () => {
    say('a', 'caller', 'what are');
    say('a', 'caller', 'What are your hours?', true);
    say('a', 'caller', 'late');
    expect(words()).toEqual(['What are your hours?']);
  });

  it('keeps the order in which segments began', () => {
    say('a', 'agent', 'Hello');
    say('b', 'caller', 'Hi');
    say('a', 'agent', 'Hello, this is', true);
    expect(words()).toEqual(['Hello, this is', 'Hi']);
  });

  it('shows nothing for a segment without words, and takes one back that lost them', () => {
    say('a', 'caller', '  ', true);
    say('b', 'caller', 'uh');
    say('b', 'caller', '', true);
    expect(words()).toEqual([]);
  });

  it('shows markup as text', () => {
    say('a', 'caller', '<img src=x onerror=alert(1)>', true);
    expect(list.querySelector('img')).toBeNull();
    expect(words()).toEqual(['<img src=x onerror=alert(1)>']);
  });

  it('announces a segment once, when it is final', () => {
    say('a', 'agent', 'We are');
    expect(announcer.textContent).toBe('');
    say('a', 'agent', 'We are open.', true);
    say('a', 'agent', 'We are open.', true);
    expect(announcer.textContent).toBe('Agent: We are open.');
  });

  it('announces no more than the last five', () => {
    for (let i = 0; i < 20; i++) say(String(i), 'agent', `line ${i}`, true);
    expect(announcer.childElementCount).toBe(5);
  });

  it('marks the last line of the agent as interrupted, once', () => {
    say('a', 'agent', 'One', true);
    say('b', 'agent', 'Two', true);
    say('c', 'caller', 'Stop', true);
    transcript.markInterrupted();
    transcript.markInterrupted();
    const marks = [...list.querySelectorAll('.mark')];
    expect(marks.map((mark) => mark.parentElement?.querySelector('.words')?.textContent)).toEqual([
      'Two',
    ]);
  });

  it('has nothing to mark before the agent spoke', () => {
    expect(() => transcript.markInterrupted()).not.toThrow();
  });
});
