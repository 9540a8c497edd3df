-- Rollout step 1: before the first replica of this version, together with tasks.
-- Old replicas: know nothing of this table and go on.
-- Locks: nothing that exists; it only creates. DDL commits at once on MySQL: after a failure drop what is there, then resolve.

CREATE TABLE `task_snapshots` (
    `task_id` VARCHAR(191) NOT NULL,
    `version` INTEGER NOT NULL,
    `payload` LONGTEXT NOT NULL,

    PRIMARY KEY (`task_id`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
