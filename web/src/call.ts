/** One call: a LiveKit room with one agent in it, told to the page through `CallListener`. */

import { Room, RoomEvent, Track } from 'livekit-client';
import type {
  DisconnectReason,
  Participant,
  RemoteParticipant,
  RemoteTrack,
  TextStreamReader,
} from 'livekit-client';
import {
  AGENT_LEFT,
  agentRefused,
  explain,
  explainDisconnect,
  HANDED_OVER,
  NO_AGENT,
} from './errors';
import type { Problem } from './errors';
import { parseReport, TURN_TOPIC } from './report';
import type { TurnReport } from './report';
import type { Grant } from './server';
import type { Segment } from './transcript';
import type { CallerVoice } from './voice';

export type CallState = 'connecting' | 'waiting' | 'active' | 'reconnecting' | 'ended';
export type AgentState = 'initializing' | 'idle' | 'listening' | 'thinking' | 'speaking';

export interface CallListener {
  onState(state: CallState): void;
  onAgentState(state: AgentState): void;
  onAgentTrack(track: MediaStreamTrack | null): void;
  onCallerTrack(track: MediaStreamTrack): void;
  onSegment(segment: Segment): void;
  onTurn(report: TurnReport): void;
  onProblem(problem: Problem | null): void;
  onAudioBlocked(blocked: boolean): void;
}

const TRANSCRIPT_TOPIC = 'lk.transcription';
const CHAT_TOPIC = 'lk.chat';
const AGENT_STATE = 'lk.agent.state';
/** Attributes that our worker sets on itself (voice_agent/call.py). */
const AGENT_ERROR = 'parley.error';
const AGENT_HANDOFF = 'parley.handoff';

/** Without an agent for this long, the caller is told. A cold worker needs about 4 s. */
const NO_AGENT_AFTER_S = 12;
/** How long an agent that left may be replaced by another before the call is over. */
const SUCCESSOR_WITHIN_S = 6;
/** Longest typed message, characters; the worker reads no more (voice_agent/typed_text.py). */
export const MAX_MESSAGE_CHARS = 1000;

export class Call {
  readonly #room: Room;
  readonly #voice: CallerVoice;
  readonly #listener: CallListener;
  readonly #audio = new Map<RemoteTrack, HTMLMediaElement>();
  #state: CallState = 'connecting';
  #agent: RemoteParticipant | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #typed = 0;

  constructor(voice: CallerVoice, listener: CallListener, speakerId: string | undefined) {
    this.#voice = voice;
    this.#listener = listener;
    this.#room = new Room({
      // With one peer connection for both directions, client 2.23.0 offers before it has joined.
      // A track published while that offer is pending now and then fails on a busy machine
      // ("createOffer: Transceiver not found based on m-line index").
      singlePeerConnection: false,
      ...(speakerId === undefined ? {} : { audioOutput: { deviceId: speakerId } }),
    });
    this.#listen();
  }

  get state(): CallState {
    return this.#state;
  }

  /** Enter the room and send the caller's voice. Ends the call with a problem when it cannot. */
  async start(grant: () => Promise<Grant>): Promise<void> {
    this.#setState('connecting');
    try {
      const { serverUrl, participantToken } = await grant();
      if (this.#state === 'ended') return;
      await this.#room.connect(serverUrl, participantToken);
      await this.#room.localParticipant.publishTrack(this.#voice.track, {
        source: Track.Source.Microphone,
      });
    } catch (error) {
      if (this.#over()) return; // hung up meanwhile
      this.#listener.onProblem(explain(error));
      await this.hangUp();
      return;
    }
    if (this.#over()) return;
    this.#listener.onCallerTrack(this.#voice.sent);
    if (this.#agent === null) this.#waitForAgent();
  }

  async hangUp(): Promise<void> {
    this.#end();
    await this.#room.disconnect();
  }

  async setMuted(muted: boolean): Promise<void> {
    const { track } = this.#voice;
    await (muted ? track.mute() : track.unmute());
  }

  /** Send a typed message; the agent answers it like a spoken one, and falls silent for it. */
  async sendText(text: string): Promise<void> {
    const message = text.trim().slice(0, MAX_MESSAGE_CHARS);
    if (message === '') return;
    this.#typed += 1;
    await this.#room.localParticipant.sendText(message, { topic: CHAT_TOPIC });
    const id = `typed-${this.#typed}`;
    this.#listener.onSegment({ id, side: 'caller', text: message, final: true, typed: true });
  }

  /** Speak a recording in place of the microphone. */
  async play(recording: AudioBuffer): Promise<void> {
    await this.#voice.play(recording, () => this.#listener.onCallerTrack(this.#voice.sent));
  }

  async useMicrophone(deviceId: string): Promise<void> {
    if (!this.#voice.hasMicrophone) return;
    await this.#voice.track.setDeviceId({ exact: deviceId });
    this.#listener.onCallerTrack(this.#voice.sent);
  }

  async useSpeaker(deviceId: string): Promise<void> {
    await this.#room.switchActiveDevice('audiooutput', deviceId);
  }

  /** Start sound that the browser blocked; must run inside a click. */
  async unblockAudio(): Promise<void> {
    await this.#room.startAudio();
  }

  #listen(): void {
    this.#room
      .on(RoomEvent.ParticipantConnected, (participant) => this.#meet(participant))
      .on(RoomEvent.Connected, () => this.#room.remoteParticipants.forEach((p) => this.#meet(p)))
      .on(RoomEvent.ParticipantDisconnected, (participant) => this.#lose(participant))
      .on(RoomEvent.ParticipantAttributesChanged, (_, participant) => this.#readState(participant))
      .on(RoomEvent.TrackSubscribed, (track) => this.#hear(track))
      .on(RoomEvent.TrackUnsubscribed, (track) => this.#unhear(track))
      .on(RoomEvent.AudioPlaybackStatusChanged, () =>
        this.#listener.onAudioBlocked(!this.#room.canPlaybackAudio),
      )
      .on(RoomEvent.Reconnecting, () => this.#setState('reconnecting'))
      .on(RoomEvent.SignalReconnecting, () => this.#setState('reconnecting'))
      .on(RoomEvent.Reconnected, () => this.#setState(this.#agent === null ? 'waiting' : 'active'))
      .on(RoomEvent.Disconnected, (reason) => this.#disconnected(reason));
    this.#room.registerTextStreamHandler(TRANSCRIPT_TOPIC, (reader, sender) => {
      void this.#readSegment(reader, sender.identity);
    });
    this.#room.registerTextStreamHandler(TURN_TOPIC, (reader) => {
      void this.#readReport(reader);
    });
  }

  #meet(participant: RemoteParticipant): void {
    if (!participant.isAgent) return;
    clearTimeout(this.#timer);
    this.#agent = participant;
    this.#listener.onProblem(null);
    this.#setState('active');
    this.#readState(participant);
  }

  #lose(participant: RemoteParticipant): void {
    if (participant !== this.#agent) return;
    this.#agent = null;
    this.#listener.onAgentTrack(null);
    this.#setState('waiting');
    // An agent that says goodbye closes the room. One that is just gone may have a successor.
    this.#timer = setTimeout(() => {
      this.#listener.onProblem(AGENT_LEFT);
      void this.hangUp();
    }, SUCCESSOR_WITHIN_S * 1000);
  }

  #waitForAgent(): void {
    this.#setState('waiting');
    this.#timer = setTimeout(() => this.#listener.onProblem(NO_AGENT), NO_AGENT_AFTER_S * 1000);
  }

  #readState(participant: Participant): void {
    if (participant !== this.#agent) return;
    const state = participant.attributes[AGENT_STATE];
    if (state !== undefined) this.#listener.onAgentState(state as AgentState);
    const refusal = participant.attributes[AGENT_ERROR];
    if (refusal !== undefined) this.#listener.onProblem(agentRefused(refusal));
    if (participant.attributes[AGENT_HANDOFF] !== undefined) this.#listener.onProblem(HANDED_OVER);
  }

  #hear(track: RemoteTrack): void {
    if (track.kind !== Track.Kind.Audio) return;
    const element = track.attach();
    this.#audio.set(track, element);
    document.body.append(element);
    this.#listener.onAgentTrack(track.mediaStreamTrack);
  }

  #unhear(track: RemoteTrack): void {
    track.detach();
    this.#audio.get(track)?.remove();
    this.#audio.delete(track);
  }

  async #readSegment(reader: TextStreamReader, sender: string): Promise<void> {
    const own = sender === this.#room.localParticipant.identity;
    const side = own ? 'caller' : 'agent';
    const id = `${side}-${reader.info.attributes?.['lk.segment_id'] ?? reader.info.id}`;
    let text = '';
    try {
      for await (const chunk of reader) {
        text += chunk;
        this.#listener.onSegment({ id, side, text, final: false });
      }
    } catch {
      // The stream was cut off with its sender; what was said until then stands.
    }
    // The agent's text grows in one stream per segment. The caller's is replaced by one stream per
    // update, of which the last is marked.
    const final = !own || reader.info.attributes?.['lk.transcription_final'] === 'true';
    this.#listener.onSegment({ id, side, text, final });
  }

  async #readReport(reader: TextStreamReader): Promise<void> {
    let json: string;
    try {
      json = await reader.readAll();
    } catch {
      return; // cut off with its sender: there is nothing to show
    }
    const report = parseReport(json);
    if (report !== null) this.#listener.onTurn(report);
  }

  #disconnected(reason: DisconnectReason | undefined): void {
    if (this.#over()) return;
    const problem = explainDisconnect(reason);
    if (problem !== null) this.#listener.onProblem(problem);
    this.#end();
  }

  #end(): void {
    if (this.#over()) return;
    clearTimeout(this.#timer);
    this.#audio.forEach((element) => element.remove());
    this.#audio.clear();
    this.#voice.close();
    this.#listener.onAgentTrack(null);
    this.#setState('ended');
  }

  #setState(state: CallState): void {
    if (this.#over()) return;
    this.#state = state;
    this.#listener.onState(state);
  }

  #over(): boolean {
    return this.#state === 'ended';
  }
}
