/** Templates that create the tables, and the policy for the role that uses them. */

import { invalidArgument } from '@tidemark/core';
import { PREFIX, PREFIX_RULE, readSettings } from './options.ts';
import { TABLES, TTL_ATTRIBUTE, tableInput } from './tables.ts';

/** Options of the templates. */
export interface TemplateOptions {
  /** The prefix of the tables, as in the URL of the store. Default `tidemark`. */
  prefix?: string;
}

/** The actions of the store itself, which never scans or deletes a table. */
const ACTIONS = [
  'dynamodb:BatchGetItem',
  'dynamodb:BatchWriteItem',
  'dynamodb:ConditionCheckItem',
  'dynamodb:DeleteItem',
  'dynamodb:DescribeContinuousBackups',
  'dynamodb:DescribeTable',
  'dynamodb:DescribeTimeToLive',
  'dynamodb:GetItem',
  'dynamodb:PutItem',
  'dynamodb:Query',
  'dynamodb:UpdateItem',
];

/**
 * Returns a CloudFormation template of both tables: on-demand, with point-in-time recovery and deletion protection.
 *
 * @example
 * console.log(cloudFormation({ prefix: 'app' }));
 */
export function cloudFormation(options?: TemplateOptions): string {
  const Resources = Object.fromEntries(
    tableNames(options).map(([kind, name]) => {
      const { TableName, AttributeDefinitions, KeySchema, BillingMode } = tableInput(name);
      const ttl = { TimeToLiveSpecification: { AttributeName: TTL_ATTRIBUTE, Enabled: true } };
      const Properties = {
        ...{ TableName, AttributeDefinitions, KeySchema, BillingMode },
        DeletionProtectionEnabled: true,
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        ...(kind === 'records' && ttl),
      };
      const id = `Tidemark${kind === 'log' ? 'Log' : 'Records'}`;
      return [
        id,
        { Type: 'AWS::DynamoDB::Table', DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain', Properties },
      ];
    }),
  );
  return `${JSON.stringify({ AWSTemplateFormatVersion: '2010-09-09', Resources }, null, 2)}\n`;
}

/**
 * Returns Terraform resources of both tables, with the same settings as the CloudFormation template.
 *
 * @example
 * console.log(terraform({ prefix: 'app' }));
 */
export function terraform(options?: TemplateOptions): string {
  return tableNames(options)
    .map(([kind, name]) => {
      const lines = [
        `resource "aws_dynamodb_table" "tidemark_${kind}" {`,
        `  name                        = "${name}"`,
        '  billing_mode                = "PAY_PER_REQUEST"',
        '  hash_key                    = "p"',
        '  range_key                   = "s"',
        '  deletion_protection_enabled = true',
        ...['p', 's'].flatMap((key) => ['', '  attribute {', `    name = "${key}"`, '    type = "B"', '  }']),
        ...['', '  point_in_time_recovery {', '    enabled = true', '  }'],
      ];
      if (kind === 'records')
        lines.push('', '  ttl {', `    attribute_name = "${TTL_ATTRIBUTE}"`, '    enabled        = true', '  }');
      return [...lines, '}', ''].join('\n');
    })
    .join('\n');
}

/**
 * Returns the IAM policy with exactly the permissions that the store needs. `tidemark migrate up` also needs permission
 * to create tables, unless a template creates them.
 *
 * @example
 * console.log(iamPolicy({ prefix: 'app' }));
 */
export function iamPolicy(options?: TemplateOptions): string {
  const Resource = tableNames(options).map(([, name]) => `arn:aws:dynamodb:*:*:table/${name}`);
  const Statement = [{ Sid: 'Tidemark', Effect: 'Allow', Action: ACTIONS, Resource }];
  return `${JSON.stringify({ Version: '2012-10-17', Statement }, null, 2)}\n`;
}

/**
 * Returns the template for the tables of a store's URL, or the policy of the role that uses them.
 *
 * @example
 * console.log(planOf('dynamodb://eu-west-1/app', 'terraform'));
 */
export function planOf(url: string, kind: 'cloudformation' | 'terraform' | 'iam'): string {
  const { prefix } = readSettings({ url });
  if (kind === 'iam') return iamPolicy({ prefix });
  return kind === 'terraform' ? terraform({ prefix }) : cloudFormation({ prefix });
}

function tableNames({ prefix = 'tidemark' }: TemplateOptions = {}): [kind: string, name: string][] {
  if (typeof prefix !== 'string' || !PREFIX.test(prefix)) throw invalidArgument('prefix', PREFIX_RULE, prefix);
  return TABLES.map((kind) => [kind, `${prefix}-${kind}`]);
}
