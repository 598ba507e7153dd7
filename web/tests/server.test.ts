import { describe, expect, it, vi } from 'vitest';
import { takeAccessToken } from '../src/server';

const at = (hash: string): Location =>
  ({ hash, pathname: '/', search: '?x=1' }) as unknown as Location;

describe('takeAccessToken', () => {
  it('takes the token out of the address', () => {
    const replaceState = vi.fn();
    expect(takeAccessToken(at('#token=a.b.c'), { replaceState } as unknown as History)).toBe('a.b.c');
    expect(replaceState).toHaveBeenCalledWith(null, '', '/?x=1');
  });

  it.each(['', '#', '#section'])('leaves an address without one alone: %s', (hash) => {
    const replaceState = vi.fn();
    expect(takeAccessToken(at(hash), { replaceState } as unknown as History)).toBeNull();
    expect(replaceState).not.toHaveBeenCalled();
  });
});
