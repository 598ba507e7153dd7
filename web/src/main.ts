/** Puts the page together: buttons start a call, the call's events show on the page. */

import { Call } from './call';
import type { CallListener } from './call';
import { Deferred } from './deferred';
import { DevicePicker } from './devices';
import { element } from './elements';
import { explain } from './errors';
import type { Problem } from './errors';
import { Panel } from './panel';
import { Questions } from './questions';
import { Server, takeAccessToken } from './server';
import type { CallInfo } from './server';
import { Sound } from './sound';
import { Transcript } from './transcript';
import type { Measured } from './turnmeter';
import { Visualiser } from './visualiser';
import { CallerVoice } from './voice';
import { Waterfall } from './waterfall';

const server = new Server(document.baseURI, takeAccessToken(location, history));
const panel = new Panel();
const transcript = new Transcript(
  element('transcript', HTMLOListElement),
  element('announcer', HTMLDivElement),
);
const waterfall = new Waterfall(
  element('turn', HTMLElement),
  element('turn-stages', HTMLTableSectionElement),
  element('turn-headline', HTMLParagraphElement),
  element('turn-discarded', HTMLParagraphElement),
);
const visualiser = new Visualiser(element('ring', HTMLCanvasElement));
const microphone = new DevicePicker(
  element('microphone', HTMLSelectElement),
  'audioinput',
  (id) => void attempt(() => session?.call.useMicrophone(id)),
);
const speaker = new DevicePicker(
  element('speaker', HTMLSelectElement),
  'audiooutput',
  (id) => void attempt(() => session?.call.useSpeaker(id)),
);
const questions = new Questions(element('questions', HTMLDivElement), playQuestion);
const message = element('message', HTMLInputElement);
const send = element('send', HTMLButtonElement);
const unblock = element('unblock', HTMLButtonElement);

/** The call in progress with its sound. */
interface Session {
  call: Call;
  sound: Sound;
  voice: CallerVoice;
}

let info: CallInfo | null = null;
let session: Session | null = null;
let starting = false;
let muted = false;
/** Waits for the end of the greeting; false when the call ended before. */
let greeted = new Deferred<boolean>();

async function begin(withMicrophone: boolean): Promise<void> {
  if (session !== null || starting) return;
  starting = true;
  panel.showProblem(null);
  panel.showState(withMicrophone ? 'asking' : 'connecting');
  greeted.resolve(false);
  greeted = new Deferred();
  questions.enabled = false;
  transcript.clear();
  waterfall.clear();
  let measured: Measured | null = null;
  const sound = new Sound({
    onLevels: (agent, caller) => panel.showLevels(agent, caller),
    onMeasured: (wait) => {
      measured = wait;
      document.body.dataset.waitMs = String(Math.round(wait.seconds * 1000));
    },
  });
  try {
    await sound.start();
    info ??= await loadInfo();
    const voice = withMicrophone
      ? await CallerVoice.fromMicrophone(sound.context, microphone.chosen)
      : CallerVoice.withoutMicrophone(sound.context);
    const listener = listen(sound, () => {
      const wait = measured;
      measured = null;
      return wait;
    });
    session = { call: new Call(voice, listener, speaker.chosen), sound, voice };
  } catch (error) {
    panel.showState('idle');
    panel.showProblem(explain(error));
    questions.enabled = true;
    await sound.stop();
    return;
  } finally {
    starting = false;
  }
  muted = false;
  panel.showMuted(muted, session.voice.hasMicrophone);
  visualiser.start({ agent: sound.agent, caller: sound.caller });
  const known = info;
  await session.call.start(() => server.grant(known));
  await refreshDevices();
}

function listen(sound: Sound, takeMeasured: () => Measured | null): CallListener {
  let spoke = false;
  return {
    onState(state) {
      panel.showState(state);
      const talking = state === 'active';
      message.disabled = send.disabled = !talking;
      questions.enabled = state === 'ended' || (talking && !muted);
      if (state !== 'active') visualiser.thinking = false;
      if (state === 'ended') {
        session = null;
        greeted.resolve(false);
        unblock.hidden = true;
        visualiser.stop();
        void sound.stop();
      }
    },
    onAgentState(state) {
      panel.showAgentState(state);
      visualiser.thinking = state === 'thinking';
      spoke ||= state === 'speaking';
      if (spoke && state === 'listening') greeted.resolve(true);
    },
    onAgentTrack: (track) => sound.agent.follow(track),
    onCallerTrack: (track) => sound.caller.follow(track),
    onSegment: (segment) => transcript.update(segment),
    onTurn(report) {
      if (report.interrupted) transcript.markInterrupted();
      // what is said unasked answers no question: the time measured waits for the answer
      if (report.answers) waterfall.show(report, takeMeasured());
    },
    onProblem: (problem) => panel.showProblem(problem),
    onAudioBlocked: (blocked) => {
      unblock.hidden = !blocked;
    },
  };
}

/** Ask a recorded question; outside a call, start one without a microphone first. */
async function playQuestion(url: string): Promise<void> {
  await attempt(async () => {
    if (session === null) await begin(false);
    if (!(await greeted.promise) || session === null) return;
    const answer = await fetch(new URL(url, document.baseURI));
    if (!answer.ok) throw new Error(`The recording could not be loaded (${answer.status}).`);
    const bytes = await answer.arrayBuffer();
    const recording = await session.sound.context.decodeAudioData(bytes);
    await session?.call.play(recording);
  });
}

async function toggleMute(): Promise<void> {
  if (session === null) return;
  muted = !muted;
  panel.showMuted(muted, session.voice.hasMicrophone);
  questions.enabled = !muted && session.call.state === 'active';
  await session.call.setMuted(muted);
}

async function sendMessage(): Promise<void> {
  const text = message.value;
  if (session === null || text.trim() === '') return;
  message.value = '';
  session.sound.typedMessage();
  try {
    await session.call.sendText(text);
  } catch {
    message.value = text; // nothing that was typed is lost
    panel.showProblem({
      code: 'message-not-sent',
      title: 'The message was not sent',
      fix: 'Wait until the connection is back, then send it again.',
    });
  }
}

/** Run something the caller asked for during a call; say so when it fails. */
async function attempt(action: () => Promise<void> | undefined): Promise<void> {
  try {
    await action();
  } catch (error) {
    panel.showProblem(explain(error));
  }
}

async function refreshDevices(): Promise<void> {
  await Promise.all([microphone.refresh(), speaker.refresh()]);
}

async function loadInfo(): Promise<CallInfo> {
  const loaded = await server.info();
  element('who', HTMLHeadingElement).textContent = loaded.persona.title;
  element('disclosure', HTMLParagraphElement).textContent = loaded.persona.disclosure;
  element('greeting', HTMLParagraphElement).textContent = loaded.persona.greeting;
  element('version', HTMLParagraphElement).textContent = loaded.version;
  const engine = element('engine', HTMLParagraphElement);
  engine.hidden = false;
  engine.dataset.kind = loaded.llm.kind;
  engine.textContent = loaded.llm.kind === 'script' ? 'Scripted answers' : loaded.llm.name;
  element('notice', HTMLDivElement).hidden = loaded.llm.notice === null;
  element('notice-text', HTMLParagraphElement).textContent = loaded.llm.notice ?? '';
  element('notice-fix', HTMLParagraphElement).textContent = loaded.llm.replacement ?? '';
  return loaded;
}

async function prepare(): Promise<void> {
  let problem: Problem | null = null;
  try {
    info = await loadInfo();
  } catch (error) {
    problem = explain(error);
  }
  panel.showState('idle');
  panel.showProblem(problem);
  questions.enabled = true;
  await refreshDevices();
}

function onClick(id: string, action: () => Promise<void>): void {
  element(id, HTMLButtonElement).addEventListener('click', () => void action());
}

onClick('call', () => begin(true));
onClick('call-silently', () => begin(false));
onClick('problem-no-microphone', () => begin(false));
onClick('hang-up', async () => session?.call.hangUp());
onClick('mute', toggleMute);
onClick('unblock', async () => session?.call.unblockAudio());
element('form', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  void sendMessage();
});
navigator.mediaDevices?.addEventListener('devicechange', () => void refreshDevices());
void prepare();
