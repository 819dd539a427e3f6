/** A TCP proxy that injects faults: lost replies, lost connections or delays. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export class FaultProxy {
  readonly #server: Server;
  readonly #target: { host: string; port: number };
  readonly #sockets = new Set<Socket>();
  #marker: string | null = null;
  #silent = false;
  /** How long each chunk of data is delayed, in both directions. */
  delayMs = 0;
  /** The number of connections cut before a reply. */
  cuts = 0;

  private constructor(target: { host: string; port: number }) {
    this.#target = target;
    this.#server = createServer((client) => this.#join(client));
  }

  /** Listens on a free port, in front of the host and port of `url`. */
  static async before(url: string): Promise<FaultProxy> {
    const { hostname, port } = new URL(url);
    const proxy = new FaultProxy({ host: hostname, port: Number(port) });
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Forwards the next request that contains this text, and cuts its connection when the reply arrives. */
  cutReplyTo(marker: string): void {
    this.#marker = marker;
  }

  /** Stops all traffic without closing connections. New ones are accepted and not answered. */
  goSilent(): void {
    this.#silent = true;
  }

  /** Resumes traffic. Data that was held back is lost, and so are its connections. */
  heal(): void {
    this.#silent = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, 'close');
  }

  #join(client: Socket): void {
    const server = connect(this.#target);
    let cutting = false;
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    this.#pass(client, server, (data) => {
      if (this.#marker === null || !data.includes(this.#marker)) return;
      this.#marker = null;
      cutting = true;
    });
    this.#pass(server, client, () => {
      if (!cutting) return;
      this.cuts++;
      client.destroy();
    });
  }

  #pass(from: Socket, to: Socket, look: (data: Buffer) => void): void {
    let before: Promise<unknown> = Promise.resolve();
    from.on('data', (data) => {
      if (this.#silent) return;
      look(data as Buffer);
      if (this.delayMs === 0) return void (to.destroyed || to.write(data));
      const held = sleep(this.delayMs);
      before = Promise.all([before, held]).then(() => to.destroyed || to.write(data));
    });
  }
}
