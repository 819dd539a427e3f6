/** Cold start: loads the package, opens a new file, appends one event and closes. Prints milliseconds. */
const start = performance.now();
const { open } = await import('tidemark');
const store = await open(`sqlite:${process.argv[2]}`);
await store.runs.handle('order-42').append('RunStarted', { by: 'ada' });
await store.close();
console.log(performance.now() - start);
