/** Listens to both sides of a call: levels for the page, and the wait for each answer. */

import { Listener } from './levels';
import { TurnMeter } from './turnmeter';
import type { Measured } from './turnmeter';

/** How often the analysers are read; less than half of what they hold, so nothing is missed. */
const READ_EVERY_MS = 20;
/** How often levels are written into the page. */
const SHOW_EVERY_MS = 100;
/** A reading later than this has missed sound (a throttled tab): waits are not measured over it. */
const LATE_S = 0.04;

export interface SoundListener {
  /** Loudness of both sides, in [0, 1]. */
  onLevels(agent: number, caller: number): void;
  onMeasured(measured: Measured): void;
}

export class Sound {
  readonly context = new AudioContext();
  readonly agent = new Listener(this.context, false);
  readonly caller = new Listener(this.context, true);
  readonly #listener: SoundListener;
  readonly #meter = new TurnMeter();
  #timers: ReturnType<typeof setInterval>[] = [];
  #readAt = 0;

  constructor(listener: SoundListener) {
    this.#listener = listener;
  }

  /** Must run inside a click: browsers start sound only then. */
  async start(): Promise<void> {
    this.#timers = [
      setInterval(() => this.#read(), READ_EVERY_MS),
      setInterval(() => this.#show(), SHOW_EVERY_MS),
    ];
    // Without a microphone and before any click `resume` may wait for one; the call must not.
    await Promise.race([this.context.resume(), new Promise((go) => setTimeout(go, 500))]);
  }

  async stop(): Promise<void> {
    this.#timers.forEach(clearInterval);
    this.#timers = [];
    this.agent.follow(null);
    this.caller.follow(null);
    this.#listener.onLevels(0, 0);
    await this.context.close();
  }

  /** The caller sent a typed message just now. */
  typedMessage(): void {
    this.#meter.typedMessage(this.context.currentTime);
  }

  #read(): void {
    const now = this.context.currentTime;
    const late = now - this.#readAt > LATE_S;
    this.#readAt = now;
    const caller = this.caller.read();
    const agent = this.agent.read();
    if (caller !== null) this.#meter.callerSound(caller.last);
    if (agent === null) return;
    const measured = this.#meter.agentSound(agent.first, agent.last);
    if (measured !== null && !late) this.#listener.onMeasured(measured);
  }

  #show(): void {
    this.#listener.onLevels(this.agent.level, this.caller.level);
  }
}
