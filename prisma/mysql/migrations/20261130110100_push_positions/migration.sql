-- Rollout step 5: before the first replica of this version. Configs there are begin at their task's last event.
-- Old replicas: go on, and send what they commit themselves; replicas of this version send it too, so during a rollout an event may come twice.
-- Locks: the rows of push_notification_configs while they are updated, some seconds per million; tasks are only read.

UPDATE `push_notification_configs` c JOIN `tasks` t ON t.`id` = c.`task_id`
   SET c.`position` = t.`version`,
       c.`status` = IF(t.`state` IN ('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED'), 'done', 'active'),
       c.`due_at` = IF(t.`state` IN ('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED'), NULL, c.`due_at`);
