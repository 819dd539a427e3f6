const KEPT_MS = 60_000;

/** Downloads a file, with a name that is valid on every file system. */
export function saveFile(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name.replace(/[^\w.-]+/g, '_').slice(-100);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
