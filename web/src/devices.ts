/** The microphone and speaker pickers. */

import { Room } from 'livekit-client';

type Kind = 'audioinput' | 'audiooutput';

const NAMES: Record<Kind, string> = { audioinput: 'Microphone', audiooutput: 'Speaker' };

/** Not every browser lets a page choose where it plays. */
function canChooseSpeaker(): boolean {
  return 'setSinkId' in HTMLMediaElement.prototype;
}

export class DevicePicker {
  readonly #select: HTMLSelectElement;
  readonly #kind: Kind;

  constructor(select: HTMLSelectElement, kind: Kind, onChoose: (deviceId: string) => void) {
    this.#select = select;
    this.#kind = kind;
    select.addEventListener('change', () => {
      if (select.value !== '') onChoose(select.value);
    });
  }

  /** The device to use; undefined for the browser's own choice. */
  get chosen(): string | undefined {
    return this.#select.value === '' ? undefined : this.#select.value;
  }

  /** List what there is now. Names are known once the microphone was allowed. */
  async refresh(): Promise<void> {
    if (navigator.mediaDevices === undefined) return;
    if (this.#kind === 'audiooutput' && !canChooseSpeaker()) {
      this.#offer('This browser uses the system’s speaker', []);
      return;
    }
    const devices = await Room.getLocalDevices(this.#kind, false);
    const named = devices.filter(({ deviceId }) => deviceId !== '' && deviceId !== 'default');
    const hint = named.length === 0 && this.#kind === 'audioinput' ? ' (listed once allowed)' : '';
    this.#offer(`Default${hint}`, named);
  }

  #offer(first: string, devices: MediaDeviceInfo[]): void {
    const chosen = this.#select.value;
    const option = (label: string, value: string): HTMLOptionElement => new Option(label, value);
    const options = devices.map(({ label, deviceId }, index) =>
      option(label || `${NAMES[this.#kind]} ${index + 1}`, deviceId),
    );
    this.#select.replaceChildren(option(first, ''), ...options);
    this.#select.disabled = devices.length === 0;
    if (devices.some(({ deviceId }) => deviceId === chosen)) this.#select.value = chosen;
  }
}
