/** The conversation in words: a list of segments, and the list on the page that shows it. */

export type Side = 'agent' | 'caller';

export interface Segment {
  id: string;
  side: Side;
  text: string;
  /** The text will not change any more. */
  final: boolean;
  typed?: boolean;
}

const SPEAKERS: Record<Side, string> = { agent: 'Agent', caller: 'You' };

/** How close to the end the reader must be for the list to follow new lines, CSS pixels. */
const FOLLOW_WITHIN_PX = 80;

export class Transcript {
  readonly #lines = new Map<string, HTMLLIElement>();
  readonly #list: HTMLOListElement;
  readonly #announcer: HTMLElement;

  /**
   * @param list shows both sides while they speak.
   * @param announcer a live region: gets each segment once, when it is final, so that a screen
   *   reader is not made to read every growing half-sentence.
   */
  constructor(list: HTMLOListElement, announcer: HTMLElement) {
    this.#list = list;
    this.#announcer = announcer;
  }

  clear(): void {
    this.#lines.clear();
    this.#list.replaceChildren();
    this.#announcer.replaceChildren();
  }

  /** Show a segment's newest text in place of its last one. */
  update(segment: Segment): void {
    const text = segment.text.trim();
    const known = this.#lines.get(segment.id);
    if (known?.dataset.final === 'true') return;
    if (text === '') {
      if (segment.final && known !== undefined) this.#remove(segment.id, known);
      return;
    }
    const follow = this.#atEnd();
    const line = known ?? this.#add(segment);
    line.dataset.final = String(segment.final);
    line.querySelector('.words')!.textContent = text;
    if (segment.final) this.#announce(`${SPEAKERS[segment.side]}: ${text}`);
    if (follow) this.#list.scrollTop = this.#list.scrollHeight;
  }

  /** Mark that the agent was cut off in its last line. */
  markInterrupted(): void {
    const lines = this.#list.querySelectorAll<HTMLLIElement>('[data-side="agent"]');
    const last = lines[lines.length - 1];
    if (last === undefined || last.dataset.interrupted === 'true') return;
    last.dataset.interrupted = 'true';
    const mark = document.createElement('span');
    mark.className = 'mark';
    mark.textContent = 'interrupted';
    last.append(mark);
  }

  #add(segment: Segment): HTMLLIElement {
    const line = document.createElement('li');
    line.dataset.side = segment.side;
    const speaker = document.createElement('span');
    speaker.className = 'speaker';
    speaker.textContent = SPEAKERS[segment.side] + (segment.typed === true ? ', typed' : '');
    const words = document.createElement('span');
    words.className = 'words';
    line.append(speaker, words);
    this.#list.append(line);
    this.#lines.set(segment.id, line);
    return line;
  }

  #remove(id: string, line: HTMLLIElement): void {
    line.remove();
    this.#lines.delete(id);
  }

  #announce(text: string): void {
    const said = document.createElement('p');
    said.textContent = text;
    this.#announcer.append(said);
    while (this.#announcer.childElementCount > 5) this.#announcer.firstElementChild?.remove();
  }

  #atEnd(): boolean {
    const { scrollTop, scrollHeight, clientHeight } = this.#list;
    return scrollHeight - scrollTop - clientHeight < FOLLOW_WITHIN_PX;
  }
}
