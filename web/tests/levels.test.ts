import { describe, expect, it } from 'vitest';
import { audibleRange, rootMeanSquare } from '../src/levels';

describe('audibleRange', () => {
  it('finds the first and last sample at or above the threshold, of either sign', () => {
    expect(audibleRange(new Float32Array([0, 0.01, -0.5, 0.1, 0.5, 0]), 0.5)).toEqual([2, 4]);
  });

  it('finds nothing in silence', () => {
    expect(audibleRange(new Float32Array(64), 0.005)).toBeNull();
  });
});

describe('rootMeanSquare', () => {
  it('is the level of a constant', () => {
    expect(rootMeanSquare(new Float32Array(16).fill(-0.5))).toBeCloseTo(0.5);
  });
});
