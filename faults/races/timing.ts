/** How the actors of a race meet: small pauses that the seed decides. */

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
