/** The ring: the agent's voice as rays around it, the caller's as a halo inside. */

import type { Listener } from './levels';

const RAYS = 72;
/** Lowest and highest part of the spectrum drawn: where voices are, Hz. */
const FROM_HZ = 90;
const TO_HZ = 5200;
/** Frames a second under prefers-reduced-motion: levels are shown, nothing moves in between. */
const CALM_FPS = 4;

export interface Sides {
  agent: Listener;
  caller: Listener;
}

export class Visualiser {
  readonly #canvas: HTMLCanvasElement;
  readonly #calm = matchMedia('(prefers-reduced-motion: reduce)');
  readonly #rays = new Float32Array(RAYS);
  #sides: Sides | null = null;
  #thinking = false;
  #halo = 0;
  #frame = 0;
  #drawnAt = 0;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
    new ResizeObserver(() => this.#draw(0)).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#draw(0));
  }

  set thinking(thinking: boolean) {
    this.#thinking = thinking;
  }

  start(sides: Sides): void {
    this.stop();
    this.#sides = sides;
    const tick = (now: number): void => {
      this.#frame = requestAnimationFrame(tick);
      if (this.#calm.matches && now - this.#drawnAt < 1000 / CALM_FPS) return;
      this.#drawnAt = now;
      this.#draw(now);
    };
    this.#frame = requestAnimationFrame(tick);
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#sides = null;
    this.#rays.fill(0);
    this.#halo = 0;
    this.#draw(0);
  }

  #draw(now: number): void {
    const canvas = this.#canvas;
    const scale = devicePixelRatio;
    const side = canvas.clientWidth;
    if (side === 0) return;
    if (canvas.width !== Math.round(side * scale)) {
      canvas.width = canvas.height = Math.round(side * scale);
    }
    const context = canvas.getContext('2d');
    if (context === null) return;
    const style = getComputedStyle(canvas);
    const color = (name: string): string => style.getPropertyValue(name).trim();

    this.#read();
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, side, side);
    context.translate(side / 2, side / 2);
    this.#drawHalo(context, side, color('--caller'));
    this.#drawRays(context, side, now, color('--agent'), color('--ray-rest'));
  }

  #read(): void {
    if (this.#sides === null) return;
    const bins = new Uint8Array(this.#sides.agent.analyser.frequencyBinCount);
    this.#sides.agent.analyser.getByteFrequencyData(bins);
    const hertzPerBin = this.#sides.agent.analyser.context.sampleRate / 2 / bins.length;
    for (let ray = 0; ray < RAYS; ray++) {
      // Both halves of the ring show the same spectrum, low at the bottom, high at the top.
      const half = Math.abs(ray / RAYS - 0.5) * 2;
      const hertz = FROM_HZ * (TO_HZ / FROM_HZ) ** (1 - half);
      this.#rays[ray] = (bins[Math.round(hertz / hertzPerBin)] ?? 0) / 255;
    }
    const loud = Math.min(1, this.#sides.caller.level * 6);
    this.#halo += (loud - this.#halo) * 0.3;
  }

  #drawHalo(context: CanvasRenderingContext2D, side: number, color: string): void {
    if (this.#halo < 0.01) return;
    const radius = side * (0.3 + 0.07 * this.#halo);
    context.globalAlpha = 0.12 + 0.2 * this.#halo;
    context.fillStyle = color;
    context.beginPath();
    context.arc(0, 0, radius, 0, Math.PI * 2);
    context.fill();
    context.globalAlpha = 1;
  }

  #drawRays(
    context: CanvasRenderingContext2D,
    side: number,
    now: number,
    color: string,
    rest: string,
  ): void {
    const inner = side * 0.385;
    const longest = side * 0.1;
    context.lineCap = 'round';
    context.lineWidth = Math.max(2, side * 0.011);
    for (let ray = 0; ray < RAYS; ray++) {
      const strength = this.#rays[ray] ?? 0;
      // 0.25 turn: the spectrum's low end points down.
      const angle = (ray / RAYS + 0.25) * Math.PI * 2;
      const wave = this.#thinking && !this.#calm.matches ? ripple(ray, now) : 0;
      const length = 1 + longest * Math.max(strength, wave * 0.25);
      const [x, y] = [Math.cos(angle), Math.sin(angle)];
      context.strokeStyle = strength > 0.04 || wave > 0.05 ? color : rest;
      context.globalAlpha = strength > 0.04 ? 0.55 + 0.45 * strength : 1 - 0.4 * wave;
      context.beginPath();
      context.moveTo(x * inner, y * inner);
      context.lineTo(x * (inner + length), y * (inner + length));
      context.stroke();
    }
    context.globalAlpha = 1;
  }
}

/** A soft crest that goes round once in 2.4 s while the agent thinks, in [0, 1]. */
function ripple(ray: number, now: number): number {
  const away = Math.abs((((ray / RAYS - now / 2400) % 1) + 1.5) % 1 - 0.5);
  return Math.max(0, 1 - away * 7);
}
