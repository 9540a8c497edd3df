-- Rollout step 1: before the first replica of this version. Holds webhooks and their secrets.
-- Old replicas: know nothing of this table and go on.
-- Locks: nothing that exists; it only creates. DDL commits at once on MySQL: after a failure drop what is there, then resolve.

CREATE TABLE `push_notification_configs` (
    `task_id` VARCHAR(191) NOT NULL,
    `config_id` VARCHAR(191) NOT NULL,
    `tenant` VARCHAR(191) NOT NULL,
    `owner` VARCHAR(191) NOT NULL,
    `url` LONGTEXT NOT NULL,
    `payload` LONGTEXT NOT NULL,
    `wire_version` VARCHAR(32) NOT NULL,
    `created_at` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),

    PRIMARY KEY (`task_id`, `config_id`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
