/** A meter that records its measurements. */
import type { Attributes, Meter } from '@tidemark/core';

export type Point = [name: string, value: number, attributes?: Attributes];

export function recordingMeter(): { meter: Meter; points: Point[] } {
  const points: Point[] = [];
  const meter: Meter = {
    createHistogram: (name) => ({ record: (value, attributes) => points.push([name, value, attributes]) }),
    createCounter: (name) => ({ add: (value, attributes) => points.push([name, value, attributes]) }),
  };
  return { meter, points };
}
