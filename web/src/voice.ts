/** What the call hears from the caller: the microphone, or a recorded question in its place. */

import { LocalAudioTrack, createLocalAudioTrack, Track } from 'livekit-client';
import type { AudioProcessorOptions, TrackProcessor } from 'livekit-client';

/** Browsers without a secure context have no `navigator.mediaDevices`; say so by name. */
class InsecureContextError extends Error {
  override readonly name = 'InsecureContextError';
}

/** Puts a recording where the microphone's sound was, for as long as it is set on the track. */
class Substitute implements TrackProcessor<Track.Kind.Audio, AudioProcessorOptions> {
  readonly name = 'recorded-question';
  readonly processedTrack: MediaStreamTrack;

  constructor(track: MediaStreamTrack) {
    this.processedTrack = track;
  }

  async init(): Promise<void> {}
  async restart(): Promise<void> {}
  async destroy(): Promise<void> {}
}

export class CallerVoice {
  readonly track: LocalAudioTrack;
  readonly hasMicrophone: boolean;
  readonly #context: AudioContext;
  /** Where recordings go when there is no microphone. */
  readonly #line: MediaStreamAudioDestinationNode | null;
  #playing: AudioBufferSourceNode | null = null;

  private constructor(
    track: LocalAudioTrack,
    context: AudioContext,
    line: MediaStreamAudioDestinationNode | null,
  ) {
    this.track = track;
    this.hasMicrophone = line === null;
    this.#context = context;
    this.#line = line;
  }

  /** Open the microphone; throws what `getUserMedia` throws. */
  static async fromMicrophone(context: AudioContext, deviceId?: string): Promise<CallerVoice> {
    if (navigator.mediaDevices === undefined) throw new InsecureContextError();
    const track = await createLocalAudioTrack({
      echoCancellation: true,
      noiseSuppression: true,
      autoGainControl: true,
      ...(deviceId === undefined ? {} : { deviceId: { exact: deviceId } }),
    });
    track.setAudioContext(context);
    return new CallerVoice(track, context, null);
  }

  /** A silent line, on which recordings can be played. */
  static withoutMicrophone(context: AudioContext): CallerVoice {
    const line = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
    const track = new LocalAudioTrack(trackOf(line), undefined, true, context);
    track.source = Track.Source.Microphone;
    return new CallerVoice(track, context, line);
  }

  /** The track that is sent right now. */
  get sent(): MediaStreamTrack {
    return this.track.getProcessor()?.processedTrack ?? this.track.mediaStreamTrack;
  }

  /**
   * Speak a recording to its end; the microphone is not heard meanwhile.
   * @param onSwitch called when `sent` changed.
   */
  async play(recording: AudioBuffer, onSwitch: () => void): Promise<void> {
    this.stopPlaying();
    const destination = this.#line ?? new MediaStreamAudioDestinationNode(this.#context);
    const source = new AudioBufferSourceNode(this.#context, { buffer: recording });
    this.#playing = source;
    source.connect(destination);
    const ended = new Promise((resolve) => source.addEventListener('ended', resolve));
    if (this.hasMicrophone) {
      await this.track.setProcessor(new Substitute(trackOf(destination)));
      onSwitch();
    }
    source.start();
    await ended;
    source.disconnect();
    if (this.#playing !== source) return; // another recording has taken over
    this.#playing = null;
    if (this.hasMicrophone && this.track.getProcessor() !== undefined) {
      await this.track.stopProcessor();
      onSwitch();
    }
  }

  stopPlaying(): void {
    this.#playing?.stop();
    this.#playing = null;
  }

  /** Let go of the microphone. */
  close(): void {
    this.stopPlaying();
    this.track.stop();
  }
}

function trackOf(node: MediaStreamAudioDestinationNode): MediaStreamTrack {
  const track = node.stream.getAudioTracks()[0];
  if (track === undefined) throw new Error('this browser gives a WebAudio stream no track');
  return track;
}
