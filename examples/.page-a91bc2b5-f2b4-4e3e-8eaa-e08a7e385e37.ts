import { open } from "tidemark"; const store = await open('memory:');




import { createServer } from '@tidemark/server';
import { httpStore } from '@tidemark/client';

const server = createServer({ store });              // 127.0.0.1, any free port
const url = await server.listen();
const remote = await httpStore(url);                 // or: await open(url)
await remote.runs.handle('order-42').append('RunStarted');
await server.close();                                // answers the accepted requests; the store stays open

export {};
