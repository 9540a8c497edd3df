import type {
  ClusterOperator,
  ClusterStatus,
  PushOperator,
  ReplicaOperator,
  TaskOperator,
} from '@a2a-cluster/cluster';

/** What the console needs of a replica: any `Cluster` has it. */
export interface ConsoleSource {
  readonly operator: Pick<ClusterOperator, 'leases' | 'releaseLease'> & {
    readonly tasks: TaskOperator;
    readonly replicas: ReplicaOperator;
    readonly push: PushOperator;
  };
  status(): ClusterStatus;
}
