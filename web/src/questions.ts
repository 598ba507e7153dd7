/** Recorded questions for callers without a microphone. */

interface Question {
  file: string;
  words: string;
}

const QUESTIONS: readonly Question[] = [
  { file: 'hours.wav', words: 'What are your opening hours?' },
  {
    file: 'book.wav',
    words: 'I would like to book an appointment on Tuesday at three thirty. My name is Peter Miller.',
  },
  { file: 'when.wav', words: 'When is my appointment?' },
  { file: 'goodbye.wav', words: 'Thank you, goodbye.' },
];

/** A row of buttons, one per question. */
export class Questions {
  readonly #buttons: HTMLButtonElement[];
  #playing: HTMLButtonElement | null = null;
  #enabled = false;

  /** @param play speaks the recording at a URL and settles at its end. */
  constructor(group: HTMLElement, play: (url: string) => Promise<void>) {
    this.#buttons = QUESTIONS.map(({ file, words }) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.dataset.question = file.replace('.wav', '');
      button.textContent = words;
      button.addEventListener('click', () => void this.#run(button, play, `questions/${file}`));
      return button;
    });
    group.replaceChildren(...this.#buttons);
    this.enabled = false;
  }

  set enabled(enabled: boolean) {
    this.#enabled = enabled;
    for (const button of this.#buttons) button.disabled = !enabled || this.#playing !== null;
  }

  async #run(
    button: HTMLButtonElement,
    play: (url: string) => Promise<void>,
    url: string,
  ): Promise<void> {
    this.#playing = button;
    button.dataset.playing = 'true';
    this.enabled = this.#enabled;
    try {
      await play(url);
    } finally {
      this.#playing = null;
      delete button.dataset.playing;
      this.enabled = this.#enabled;
    }
  }
}
