-- Rollout step 1: before the first replica of this version, together with tasks.
-- Old replicas: know nothing of this table and go on.
-- Locks: nothing that exists; it only creates. DDL commits at once on MySQL: after a failure drop what is there, then resolve.
-- The unique index finds a message that is sent twice; NULLs do not collide.

CREATE TABLE `task_events` (
    `task_id` VARCHAR(191) NOT NULL,
    `seq` INTEGER NOT NULL,
    `kind` VARCHAR(16) NOT NULL,
    `payload` LONGTEXT NOT NULL,
    `write_id` VARCHAR(255) NOT NULL,
    `message_id` VARCHAR(191) NULL,
    `holder` VARCHAR(191) NOT NULL,
    `epoch` INTEGER NOT NULL,
    `created_at` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
    UNIQUE INDEX `task_events_task_id_message_id_key` (`task_id`, `message_id`),

    PRIMARY KEY (`task_id`, `seq`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
