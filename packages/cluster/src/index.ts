export { createCluster, type Cluster } from './create-cluster.js';
export type { ClusterOperator } from './operator.js';
export type { ClusterOptions } from './options.js';
export type { ClusterStatus } from './status.js';
export { ClusterError, isClusterError, type ClusterErrorCode, type Logger } from '@a2a-cluster/core';
export { ClusterRequestContext, turnOf, type TurnHandle } from '@a2a-cluster/request-handler';
