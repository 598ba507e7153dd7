/** What this page's own server knows and grants. */

import { TokenSource } from 'livekit-client';

/** Answer of `GET api/info`. */
export interface CallInfo {
  agent_name: string;
  version: string;
  auth_required: boolean;
  persona: { name: string; title: string; language: string; greeting: string; disclosure: string };
  llm: { kind: 'script' | 'model'; name: string; notice: string | null; replacement: string | null };
}

export interface Grant {
  serverUrl: string;
  participantToken: string;
}

/**
 * Take the caller's JWT out of the address, `#token=...`, so that it is not left in the address bar.
 * A fragment is never sent to a server.
 */
export function takeAccessToken(location: Location, history: History): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token !== null) history.replaceState(null, '', location.pathname + location.search);
  return token;
}

export class Server {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  constructor(base: string, accessToken: string | null) {
    this.#base = base;
    this.#headers = accessToken === null ? {} : { Authorization: `Bearer ${accessToken}` };
  }

  async info(): Promise<CallInfo> {
    const answer = await fetch(new URL('api/info', this.#base));
    if (!answer.ok) throw new Error(`received ${answer.status} / ${await answer.text()}`);
    return (await answer.json()) as CallInfo;
  }

  /** Ask for a new call with LiveKit's own client of the TokenSource contract. */
  async grant(info: CallInfo): Promise<Grant> {
    const url = new URL('api/token', this.#base).href;
    const source = TokenSource.endpoint(url, { headers: this.#headers });
    const { serverUrl, participantToken } = await source.fetch({
      agentName: info.agent_name,
      agentMetadata: JSON.stringify({ persona: info.persona.name }),
    });
    return { serverUrl, participantToken };
  }
}
