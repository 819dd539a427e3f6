/** The whole conformance kit on a cluster of three servers, every stream with three replicas. */
import { registerKit } from './kit.ts';
import { onOwnCluster } from './servers.ts';

registerKit(
  'On a cluster of three',
  () => onOwnCluster('installed'),
  () => true,
);
