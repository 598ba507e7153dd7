/** The call card: state, timer, buttons, problems and levels. Knows the page, not the call. */

import type { AgentState, CallState } from './call';
import { element } from './elements';
import type { Problem } from './errors';

/** `asking`: the browser asks the caller for the microphone. */
type PageState = CallState | 'idle' | 'asking';

const STATE_WORDS: Record<PageState, string> = {
  idle: 'Ready',
  asking: 'Waiting for the microphone…',
  connecting: 'Connecting…',
  waiting: 'Ringing…',
  active: 'Connected',
  reconnecting: 'Connection lost. Reconnecting…',
  ended: 'Call ended',
};
const AGENT_WORDS: Record<AgentState, string> = {
  initializing: 'Picking up…',
  idle: 'Waiting for you',
  listening: 'Listening',
  thinking: 'Thinking…',
  speaking: 'Speaking',
};
/** Root mean square that fills a level meter: about a loud voice. */
const FULL_LEVEL = 0.2;

export class Panel {
  readonly #state = element('state', HTMLParagraphElement);
  /** What a screen reader says: how the call stands, not every pause of the agent. */
  readonly #status = element('status', HTMLParagraphElement);
  readonly #timer = element('timer', HTMLParagraphElement);
  readonly #controls = element('controls', HTMLDivElement);
  readonly #levels = element('levels', HTMLDivElement);
  readonly #mute = element('mute', HTMLButtonElement);
  readonly #problem = element('problem', HTMLDivElement);
  readonly #call = element('call', HTMLButtonElement);
  readonly #callSilently = element('call-silently', HTMLButtonElement);
  /** The keyboard was on a button that is hidden now. */
  #keepFocus = false;
  #startedAt: number | null = null;
  #ticking: ReturnType<typeof setInterval> | undefined;

  showState(state: PageState): void {
    document.body.dataset.call = state;
    if (state !== 'active') document.body.dataset.agent = '';
    const calling = state !== 'idle' && state !== 'ended';
    const focusWithin = this.#controls.contains(document.activeElement);
    const focusOnCall =
      document.activeElement === this.#call || document.activeElement === this.#callSilently;
    this.#keepFocus ||= calling && focusOnCall;
    this.#state.textContent = this.#status.textContent = STATE_WORDS[state];
    this.#controls.hidden = !calling || state === 'asking';
    this.#levels.hidden = this.#controls.hidden;
    this.#call.hidden = calling;
    this.#callSilently.hidden = calling;
    this.#call.disabled = this.#callSilently.disabled = false;
    // A button that disappears must not take the keyboard with it.
    if (this.#keepFocus && !this.#controls.hidden) {
      element('hang-up', HTMLButtonElement).focus();
      this.#keepFocus = false;
    }
    if (!calling && (focusWithin || this.#keepFocus)) {
      this.#call.focus();
      this.#keepFocus = false;
    }
    if (state === 'active') this.#startTimer();
    if (!calling) this.#stopTimer();
  }

  showAgentState(state: AgentState): void {
    document.body.dataset.agent = state;
    this.#state.textContent = AGENT_WORDS[state] ?? state;
  }

  showProblem(problem: Problem | null): void {
    this.#problem.hidden = problem === null;
    this.#problem.dataset.code = problem?.code ?? '';
    element('problem-title', HTMLHeadingElement).textContent = problem?.title ?? '';
    element('problem-fix', HTMLParagraphElement).textContent = problem?.fix ?? '';
    const offer = element('problem-no-microphone', HTMLButtonElement);
    offer.hidden = problem?.offerNoMicrophone !== true;
    document.body.dataset.problem = problem?.code ?? '';
  }

  showMuted(muted: boolean, hasMicrophone: boolean): void {
    this.#mute.hidden = !hasMicrophone;
    this.#mute.setAttribute('aria-pressed', String(muted));
    this.#mute.querySelector('span')!.textContent = muted ? 'Muted' : 'Mute';
  }

  showLevels(agent: number, caller: number): void {
    showLevel('agent-level', agent);
    showLevel('caller-level', caller);
  }

  #startTimer(): void {
    if (this.#startedAt !== null) return;
    this.#startedAt = performance.now();
    this.#timer.hidden = false;
    this.#tick();
    this.#ticking = setInterval(() => this.#tick(), 1000);
  }

  #stopTimer(): void {
    clearInterval(this.#ticking);
    this.#startedAt = null;
    this.#timer.hidden = true;
  }

  #tick(): void {
    const seconds = Math.floor((performance.now() - (this.#startedAt ?? 0)) / 1000);
    const rest = String(seconds % 60).padStart(2, '0');
    this.#timer.textContent = `${Math.floor(seconds / 60)}:${rest}`;
  }
}

function showLevel(id: string, level: number): void {
  const meter = element(id, HTMLDivElement);
  const percent = Math.round(Math.min(1, level / FULL_LEVEL) * 100);
  meter.setAttribute('aria-valuenow', String(percent));
  meter.style.setProperty('--level', String(percent / 100));
}
