import { ConnectionError, DisconnectReason } from 'livekit-client';
import { describe, expect, it } from 'vitest';
import { agentRefused, explain, explainDisconnect } from '../src/errors';

const named = (name: string): Error => Object.assign(new Error('from the browser'), { name });
const refusal = (status: number, body: string): Error =>
  new Error(`Error generating token from endpoint http://x/api/token: received ${status} / ${body}`);

it('shows an agent’s own reason for refusing', () => {
  expect(agentRefused('There is no persona "x".')).toMatchObject({ fix: 'There is no persona "x".' });
});

describe('explain', () => {
  it.each([
    ['NotAllowedError', 'microphone-denied'],
    ['NotFoundError', 'microphone-missing'],
    ['NotReadableError', 'microphone-busy'],
    ['OverconstrainedError', 'microphone-gone'],
    ['InsecureContextError', 'insecure-page'],
  ])('offers a call without a microphone after %s', (name, code) => {
    expect(explain(named(name))).toMatchObject({ code, offerNoMicrophone: true });
  });

  it('shows the server’s own words when it refuses', () => {
    const problem = explain(refusal(400, '{"error":{"code":"x","message":"room_name: no"}}'));
    expect(problem).toMatchObject({ code: 'token-400', fix: 'room_name: no' });
  });

  it.each(['', 'Bad gateway', '{"error":7}', 'null', '{"error":{"message":{}}}'])(
    'copes with an answer from something else: %s',
    (body) => {
      expect(explain(refusal(502, body))).toMatchObject({
        code: 'token-502',
        fix: 'HTTP status 502.',
      });
    },
  );

  it('has words of its own for the refusals that callers meet', () => {
    expect(explain(refusal(401, '{}')).code).toBe('token-401');
    expect(explain(refusal(429, '{}')).fix).toContain('Wait');
  });

  it('tells a dead server from a dead media server', () => {
    expect(explain(new TypeError('Failed to fetch')).code).toBe('token-server-gone');
    expect(explain(ConnectionError.serverUnreachable('no')).code).toBe('media-server-gone');
    expect(explain(ConnectionError.notAllowed('no', 401)).code).toBe('token-refused');
  });

  it.each([undefined, null, 'text', 7, {}])('never throws itself: %s', (thrown) => {
    expect(explain(thrown).title).not.toBe('');
  });
});

describe('explainDisconnect', () => {
  it('has no problem with a normal end', () => {
    expect(explainDisconnect(DisconnectReason.CLIENT_INITIATED)).toBeNull();
    expect(explainDisconnect(DisconnectReason.ROOM_DELETED)).toBeNull();
  });

  it('says that the connection was lost otherwise', () => {
    expect(explainDisconnect(undefined)?.code).toBe('connection-lost');
    expect(explainDisconnect(DisconnectReason.SERVER_SHUTDOWN)?.code).toBe('connection-lost');
  });
});
