/** Tidemark on Amazon DynamoDB. */
export type { DynamoDbOptions } from './options.ts';
export { dynamodbStore, openUrl } from './store.ts';
export { cloudFormation, iamPolicy, planOf, type TemplateOptions, terraform } from './templates.ts';
