import { describe, expect, it } from 'vitest';
import { TurnMeter } from '../src/turnmeter';

describe('TurnMeter', () => {
  it('measures from the last sound of the caller to the first of the answer', () => {
    const meter = new TurnMeter();
    meter.callerSound(1.0);
    meter.callerSound(2.0);
    expect(meter.agentSound(2.4, 2.44)).toEqual({ from: 'speech', seconds: expect.closeTo(0.4) });
  });

  it('measures an answer once, however long it is', () => {
    const meter = new TurnMeter();
    meter.callerSound(1);
    expect(meter.agentSound(1.3, 1.34)).not.toBeNull();
    for (let at = 1.34; at < 3; at += 0.02) expect(meter.agentSound(at, at + 0.04)).toBeNull();
    expect(meter.agentSound(4, 4.04)).toBeNull(); // a pause inside the answer
  });

  it('does not take the greeting for an answer', () => {
    expect(new TurnMeter().agentSound(1, 1.04)).toBeNull();
  });

  it('does not take the loudspeaker in the microphone for the caller', () => {
    const meter = new TurnMeter();
    meter.agentSound(1, 1.04);
    meter.callerSound(1.1);
    expect(meter.agentSound(2, 2.04)).toBeNull();
  });

  it('measures the answer after an interruption', () => {
    const meter = new TurnMeter();
    meter.agentSound(1, 2);
    meter.callerSound(2.1); // speaks into the agent's words
    meter.callerSound(3);
    expect(meter.agentSound(3.5, 3.54)?.seconds).toBeCloseTo(0.5);
  });

  it('measures a typed message from when it was sent, whatever the room sounds like', () => {
    const meter = new TurnMeter();
    meter.typedMessage(5);
    meter.callerSound(5.2);
    expect(meter.agentSound(5.6, 5.64)).toEqual({ from: 'typing', seconds: expect.closeTo(0.6) });
  });

  it('gives up on an answer that never came', () => {
    const meter = new TurnMeter();
    meter.callerSound(1);
    expect(meter.agentSound(60, 60.04)).toBeNull();
    expect(meter.agentSound(70, 70.04)).toBeNull();
  });
});
