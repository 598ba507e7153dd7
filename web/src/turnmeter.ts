/**
 * Measures in this page how long the caller waits: from the caller's last sound (or the sending of
 * a typed message) to the first audible sound of the answer, as it arrives here.
 *
 * What it cannot see: the microphone's own delay before, and the speaker's own delay after.
 */

/** Silence after which the next sound of the agent starts a new answer, seconds. */
const ANSWER_GAP_S = 0.4;
/** While the agent is audible, and this long after, the microphone may hear the loudspeaker, seconds. */
const ECHO_S = 0.25;
/** A longer wait is not an answer to that sound, seconds. */
const LONGEST_WAIT_S = 20;

export interface Measured {
  from: 'speech' | 'typing';
  seconds: number;
}

/** All times are seconds on one clock. */
export class TurnMeter {
  #callerAt: number | null = null;
  #typed = false;
  #agentAt = Number.NEGATIVE_INFINITY;

  /** The caller's newest sound. */
  callerSound(at: number): void {
    if (this.#typed || at - this.#agentAt < ECHO_S) return;
    this.#callerAt = Math.max(at, this.#callerAt ?? at);
  }

  /** The caller sent a typed message. */
  typedMessage(at: number): void {
    this.#callerAt = at;
    this.#typed = true;
  }

  /**
   * The agent was audible from `first` to `last`.
   * @returns the wait, when this is the start of an answer to something.
   */
  agentSound(first: number, last: number): Measured | null {
    const isAnswer = first - this.#agentAt > ANSWER_GAP_S;
    this.#agentAt = Math.max(this.#agentAt, last);
    if (!isAnswer || this.#callerAt === null) return null;
    const seconds = first - this.#callerAt;
    const from = this.#typed ? 'typing' : 'speech';
    if (seconds <= 0) return null; // the caller still speaks: this sound answers something else
    this.#callerAt = null;
    this.#typed = false;
    return seconds <= LONGEST_WAIT_S ? { from, seconds } : null;
  }
}
