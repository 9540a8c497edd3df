-- Rollout step 5: before the first replica of this version. Configs there are begin at their task's last event.
-- Old replicas: go on, and send what they commit themselves; replicas of this version send it too, so during a rollout an event may come twice.
-- Locks: the file, while push_notification_configs is updated: some seconds per million configs. Tasks are only read.

UPDATE "push_notification_configs"
   SET "position" = t."version",
       "status" = CASE WHEN t."state" IN ('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED') THEN 'done' ELSE 'active' END,
       "due_at" = CASE WHEN t."state" NOT IN ('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED') THEN "push_notification_configs"."due_at" END
  FROM "tasks" t WHERE t."id" = "push_notification_configs"."task_id";
