/** What can be heard on both sides of the call, read from WebAudio analysers. */

/** Samples an analyser holds: 43 ms at 48 kHz, so reading every 20 ms misses nothing. */
const WINDOW_SAMPLES = 2048;
/** Quietest sound that counts as audible: -46 dBFS. */
const AUDIBLE = 0.005;
/** A microphone has a noise floor; speech must stand this many times above it. */
const ABOVE_NOISE = 4;
/** Share by which the noise floor may rise in one reading; it falls at once. */
const NOISE_RISE = 0.002;

/** The audible part of what was read, seconds on the audio clock. */
export interface Audible {
  first: number;
  last: number;
}

/** One side: a track with an analyser on it. */
export class Listener {
  readonly analyser: AnalyserNode;
  readonly #context: AudioContext;
  readonly #samples = new Float32Array(WINDOW_SAMPLES);
  readonly #noisy: boolean;
  #source: MediaStreamAudioSourceNode | null = null;
  #noise = AUDIBLE;
  /** Loudness of the last reading, root mean square, in [0, 1]. */
  level = 0;

  /** @param noisy the track is a microphone: what counts as audible adapts to its noise. */
  constructor(context: AudioContext, noisy: boolean) {
    this.#context = context;
    this.#noisy = noisy;
    this.analyser = new AnalyserNode(context, {
      fftSize: WINDOW_SAMPLES,
      smoothingTimeConstant: 0.7,
      minDecibels: -85,
      maxDecibels: -20,
    });
  }

  /** Listen to another track; null for none. */
  follow(track: MediaStreamTrack | null): void {
    this.#source?.disconnect();
    this.#source = null;
    this.level = 0;
    if (track === null) return;
    this.#source = this.#context.createMediaStreamSource(new MediaStream([track]));
    this.#source.connect(this.analyser);
  }

  /** Read the newest samples. */
  read(): Audible | null {
    if (this.#source === null) return null;
    this.analyser.getFloatTimeDomainData(this.#samples);
    this.level = rootMeanSquare(this.#samples);
    const threshold = this.#noisy ? this.#adapt() : AUDIBLE;
    const range = audibleRange(this.#samples, threshold);
    if (range === null) return null;
    const end = this.#context.currentTime;
    const at = (index: number): number =>
      end - (this.#samples.length - index) / this.#context.sampleRate;
    return { first: at(range[0]), last: at(range[1]) };
  }

  #adapt(): number {
    const risen = this.#noise * (1 + NOISE_RISE);
    this.#noise = Math.max(AUDIBLE / ABOVE_NOISE, Math.min(this.level, risen));
    return Math.max(AUDIBLE, this.#noise * ABOVE_NOISE);
  }
}

export function rootMeanSquare(samples: Float32Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return Math.sqrt(sum / samples.length);
}

/** First and last index of a sample at or above the threshold. */
export function audibleRange(samples: Float32Array, threshold: number): [number, number] | null {
  const isLoud = (sample: number): boolean => Math.abs(sample) >= threshold;
  const first = samples.findIndex(isLoud);
  return first < 0 ? null : [first, samples.findLastIndex(isLoud)];
}
