/** The engines on which Tidemark is compared with neighbours. */
export const ENGINE_NAMES = ['postgres', 'redis', 'sqlite'] as const;

export type EngineName = (typeof ENGINE_NAMES)[number];
