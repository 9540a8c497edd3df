export { createCluster, type Cluster } from './create-cluster.js';
export type { ClusterOperator } from './operator.js';
export type { ClusterOptions, PushOptions } from './options.js';
export type { FindPushes, PushOperator } from './operator-push.js';
export type { OperatorTaskPage, ReplicaOperator, TaskOperator } from './operator-views.js';
export type { SigningKey } from '@a2a-cluster/push-notifications';
export type { ClusterStatus } from './status.js';
export { ClusterError, isClusterError, type ClusterErrorCode, type Logger } from '@a2a-cluster/core';
export { ClusterRequestContext, turnOf, type TurnHandle } from '@a2a-cluster/request-handler';
