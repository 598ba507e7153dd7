/** What can go wrong in a call, said to a person with what to do about it. */

import { ConnectionError, ConnectionErrorReason, DisconnectReason } from 'livekit-client';

export interface Problem {
  /** Stable word, for tests and styles. */
  code: string;
  title: string;
  fix: string;
  /** Whether the call can go on without a microphone. */
  offerNoMicrophone?: boolean;
}

/** No agent joined the room in time. The call keeps waiting. */
export const NO_AGENT: Problem = {
  code: 'no-agent',
  title: 'No agent has answered',
  fix:
    'The agent worker may be stopped, still starting, or full. On the machine that runs Parley, ' +
    '“parley doctor” shows which. This call keeps waiting.',
};

/** The agent left and none came in its place. */
export const AGENT_LEFT: Problem = {
  code: 'agent-left',
  title: 'The agent is gone',
  fix: 'It left the call without saying goodbye. Call again.',
};

/** Not a fault: the agent has asked a person to take over. */
export const HANDED_OVER: Problem = {
  code: 'handed-over',
  title: 'A person will call you back',
  fix: 'The agent has passed your request on. You can hang up, or go on talking with the agent.',
};

/** The agent came, and refused the call. */
export function agentRefused(reason: string): Problem {
  return { code: 'agent-refused', title: 'The agent refused the call', fix: reason };
}

const CONNECTION_LOST: Problem = {
  code: 'connection-lost',
  title: 'The connection was lost',
  fix: 'It could not be restored. Check your network, then call again.',
};

const MICROPHONE_PROBLEMS: Record<string, Problem> = {
  NotAllowedError: {
    code: 'microphone-denied',
    title: 'The microphone is blocked',
    fix:
      'Allow it for this page: press the icon left of the address, set Microphone to “Allow”, ' +
      'and call again.',
    offerNoMicrophone: true,
  },
  NotFoundError: {
    code: 'microphone-missing',
    title: 'No microphone was found',
    fix: 'Plug one in and call again, or call without: type, or play a sample question.',
    offerNoMicrophone: true,
  },
  NotReadableError: {
    code: 'microphone-busy',
    title: 'The microphone cannot be used',
    fix: 'Another program may hold it. Close that program, or pick another microphone.',
    offerNoMicrophone: true,
  },
  OverconstrainedError: {
    code: 'microphone-gone',
    title: 'The chosen microphone is gone',
    fix: 'Pick another one below and call again.',
    offerNoMicrophone: true,
  },
  InsecureContextError: {
    code: 'insecure-page',
    title: 'This page may not use a microphone',
    fix: 'Browsers allow it only on https:// or on localhost. Open the page that way.',
    offerNoMicrophone: true,
  },
};

const TOKEN_PROBLEMS: Record<number, Omit<Problem, 'code'>> = {
  401: {
    title: 'You need an invitation to call',
    fix: 'Open this page with the link that you were given; it may have expired.',
  },
  429: { title: 'Too many calls', fix: 'Wait a minute, then call again.' },
};

/** Turn whatever was thrown while a call was set up into a problem with a fix. */
export function explain(error: unknown): Problem {
  if (error instanceof ConnectionError) return explainConnection(error);
  const name = error instanceof Error ? error.name : '';
  const microphone = MICROPHONE_PROBLEMS[name];
  if (microphone !== undefined) return microphone;

  const message = error instanceof Error ? error.message : String(error);
  const refusal = /received (\d{3}) \/ ([\s\S]*)$/.exec(message);
  if (refusal !== null) return explainRefusal(Number(refusal[1]), refusal[2] ?? '');
  if (error instanceof TypeError) {
    return {
      code: 'token-server-gone',
      title: 'This page’s server does not answer',
      fix: 'It may be stopped, or the network is down. Start it again (“make run”), then call.',
    };
  }
  return { code: 'unknown', title: 'The call could not be started', fix: message };
}

/** Why the room was closed; null for a normal end. */
export function explainDisconnect(reason: DisconnectReason | undefined): Problem | null {
  switch (reason) {
    case DisconnectReason.CLIENT_INITIATED:
    case DisconnectReason.ROOM_DELETED:
    case DisconnectReason.ROOM_CLOSED:
    case DisconnectReason.PARTICIPANT_REMOVED:
      return null;
    case DisconnectReason.DUPLICATE_IDENTITY:
      return { code: 'elsewhere', title: 'The call went on elsewhere', fix: 'Call again from here.' };
    default:
      return CONNECTION_LOST;
  }
}

function explainConnection(error: ConnectionError): Problem {
  if (error.reason === ConnectionErrorReason.NotAllowed) {
    return {
      code: 'token-refused',
      title: 'The media server refused the call',
      fix:
        'The token server and livekit-server must share one key and secret: compare ' +
        'LIVEKIT_API_KEY and LIVEKIT_API_SECRET, and the clocks of the two machines.',
    };
  }
  return {
    code: 'media-server-gone',
    title: 'The media server cannot be reached',
    fix:
      'livekit-server may be stopped, or a firewall is between it and you. On the machine that ' +
      'runs Parley, “parley doctor” shows which.',
  };
}

function explainRefusal(status: number, body: string): Problem {
  const known = TOKEN_PROBLEMS[status];
  const code = `token-${status}`;
  if (known !== undefined) return { code, ...known };
  return { code, title: 'The call was refused', fix: messageOf(body) ?? `HTTP status ${status}.` };
}

function messageOf(body: string): string | null {
  try {
    const parsed = JSON.parse(body) as { error?: { message?: unknown } } | null;
    const message = parsed?.error?.message;
    return typeof message === 'string' ? message : null;
  } catch {
    return null;
  }
}
