-- Rollout step 5: before the first replica of this version. Configs there are begin at their task's last event.
-- Old replicas: go on, and send what they commit themselves; replicas of this version send it too, so during a rollout an event may come twice.
-- Locks: the rows of push_notification_configs while they are updated, about 20 s per million: a config that is there cannot be changed or deleted meanwhile, new ones are registered. Tasks are only read. Its own migration: in one with the columns, the lock that adds those would be held for as long.

UPDATE "push_notification_configs" c
   SET "position" = t."version",
       "status" = CASE WHEN t."state" IN ('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED') THEN 'done' ELSE 'active' END,
       "due_at" = CASE WHEN t."state" NOT IN ('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED') THEN c."due_at" END
  FROM "tasks" t WHERE t."id" = c."task_id";
