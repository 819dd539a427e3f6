/** SHA-256, the only hash of Tidemark, in the two forms it is needed. */
import { hash } from 'node:crypto';

export function sha256(data: string | Uint8Array): Buffer {
  return hash('sha256', data, 'buffer');
}

export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data);
}
